#include <millpond/journal/journal_reader.hpp>

#include <algorithm>
#include <utility>

namespace millpond::journal {
namespace {

/// Largest receive time in a segment; if its header does not have it, of its current records.
std::int64_t newest_time(SegmentReader& segment) {
    if (segment.ended()) return segment.tail()->newest_utc_ns;
    segment.seek(UINT64_MAX);
    std::int64_t newest = 0;
    if (const auto place = segment.place(segment.offset() / kIndexBlockBytes)) newest = place->newest_utc_ns;
    RecordView view;
    for (;;) {
        const auto outcome = segment.next(view);
        if (outcome == ReadOutcome::record) {
            newest = std::max(newest, receive_time(view).value_or(0));
        } else if (outcome != ReadOutcome::damaged) {
            return newest;
        }
    }
}

}  // namespace

JournalReader::JournalReader(std::filesystem::path folder) : folder_(std::move(folder)) {
    static_cast<void>(list_segments(folder_));  // checks that the folder exists
}

void JournalReader::pass_over(const SegmentFile& file, const std::exception& error) {
    if (!is_segment_failure(error)) throw;
    if (!std::filesystem::exists(std::filesystem::symlink_status(file.path))) return;  // retention was faster
    passed_over_ = true;
    note_fault(file, std::string{error.what()} + "; passed over");
}

void JournalReader::note_fault(const SegmentFile& file, const std::string& what) {
    if (faulty_.insert(file.ordinal).second) faults_.push_back(what);
}

/// Empty when the segment cannot be read.
std::optional<SegmentReader> JournalReader::look_into(const SegmentFile& file) {
    try {
        return std::optional<SegmentReader>{std::in_place, file.path};
    } catch (const std::exception& error) {
        pass_over(file, error);
        return std::nullopt;
    }
}

/// Empty also when the segment waits to be used.
std::optional<SegmentReader> JournalReader::look_into_started(const SegmentFile& file) {
    if (!SegmentReader::is_started(file.path)) return std::nullopt;
    return look_into(file);
}

bool JournalReader::try_open(const SegmentFile& file) {
    try {
        segment_.emplace(file.path);
    } catch (const std::exception& error) {
        segment_.reset();
        pass_over(file, error);
        return false;
    }
    ordinal_ = file.ordinal;
    if (!segment_->fault().empty())
        note_fault(file, file.path.string() + ": " + segment_->fault() + "; its records are read");
    if (segment_->identity().epoch != position_.epoch) names_.clear();
    position_.epoch = segment_->identity().epoch;
    segment_->for_each_name([this](const NameRecord& name) { learn(name); });
    return true;
}

/// By their ordinals. Skips files after `ordinal` that should be started and are not.
std::vector<SegmentFile> JournalReader::started_behind(std::uint64_t ordinal) {
    std::vector<SegmentFile> started;
    std::vector<SegmentFile> others;
    for (auto& file : list_segments(folder_)) {
        if (file.ordinal <= ordinal) continue;
        (SegmentReader::is_started(file.path) ? started : others).push_back(std::move(file));
    }
    const auto newest = std::max(started.empty() ? 0 : started.back().ordinal, newest_started(folder_));
    for (const auto& file : others) {
        // Segments are started in order, and filled after that: these were started before the second check.
        if (file.ordinal > newest && !SegmentReader::is_filled(file.path)) continue;
        if (SegmentReader::is_started(file.path)) {
            started.push_back(file);
        } else {
            static_cast<void>(look_into(file));
        }
    }
    std::ranges::sort(started, {}, &SegmentFile::ordinal);
    return started;
}

bool JournalReader::open_next() {
    const auto behind_last = segment_ ? segment_->next_record() : 0;
    const auto open = [&](const SegmentFile& file) {
        if (!try_open(file)) return false;
        const auto first = segment_->identity().first_record;
        if (first < behind_last) {
            note_fault(file, file.path.string() + ": its header begins with record " + std::to_string(first) +
                                 ", the segment before ends with " + std::to_string(behind_last - 1));
            passed_over_ = true;  // another file has its name
        }
        return true;
    };
    // Usually the next number exists; after a removal the listing has the next one.
    const SegmentFile next{ordinal_ + 1, segment_path(folder_, ordinal_ + 1)};
    if (SegmentReader::is_started(next.path) && open(next)) return true;
    return std::ranges::any_of(started_behind(ordinal_), open);
}

std::optional<SegmentFile> JournalReader::next_started() {
    SegmentFile next{ordinal_ + 1, segment_path(folder_, ordinal_ + 1)};
    if (SegmentReader::is_started(next.path)) return next;
    if (next.ordinal == waits_ && std::filesystem::exists(next.path)) return std::nullopt;
    if (std::filesystem::exists(next.path) && next.ordinal > newest_started(folder_) &&
        !SegmentReader::is_filled(next.path)) {
        waits_ = next.ordinal;  // to be used
        return std::nullopt;
    }
    const auto started = started_behind(ordinal_);
    return started.empty() ? std::nullopt : std::optional{started.front()};
}

/// True if the open segment has ended although its header does not say so: its writer has continued in another one.
/// Records appended before that are visible now and must be read first.
bool JournalReader::find_over() {
    const auto next = next_started();
    if (!next) return false;
    const auto segment = look_into(*next);
    const auto first = segment ? segment->identity().first_record : 0;
    segment_->set_over(first >= segment_->next_record() ? first : 0);
    return true;
}

void JournalReader::learn(const NameRecord& name) {
    // Ids are indexes into a board, so valid ones are small; a damaged one must not cost memory.
    constexpr feed::InstrumentId kMostInstruments = 1U << 24U;
    if (name.instrument >= kMostInstruments) return;
    if (name.instrument >= names_.size()) names_.resize(std::size_t{name.instrument} + 1);
    names_[name.instrument] = market::Instrument{name.venue, name.symbol};
}

const market::Instrument* JournalReader::instrument(feed::InstrumentId id) const noexcept {
    return id < names_.size() && names_[id] ? &*names_[id] : nullptr;
}

std::string_view JournalReader::ring() const noexcept {
    return segment_ ? segment_->identity().ring.view() : std::string_view{};
}

LostRecord JournalReader::missing(std::uint64_t first, std::uint64_t last, LostReason reason) noexcept {
    position_.record = last;
    position_.ring = 0;
    return {.first = first, .last = last, .reason = reason};
}

JournalReader::Step JournalReader::step(RecordView& view, LostRecord& lost) {
    for (;;) {
        if (!segment_ && !open_next()) return Step::nothing;
        const auto begin = segment_->next_record();
        if (expected_ == 0) expected_ = begin;
        if (begin > expected_) {
            lost = missing(expected_, begin - 1, passed_over_ ? LostReason::damaged : LostReason::removed);
            expected_ = begin;
            passed_over_ = false;
            return Step::lost;
        }
        const auto outcome = segment_->next(view);
        switch (outcome) {
            case ReadOutcome::nothing:
                if (!find_over()) return Step::nothing;
                continue;
            case ReadOutcome::end:
                if (!open_next()) return Step::nothing;
                continue;
            case ReadOutcome::damaged: {
                const auto damage = segment_->damage();
                if (damage.last_record < damage.first_record) continue;  // torn off after the last whole record
                const auto first = std::max(damage.first_record, expected_);
                if (damage.last_record < first) continue;
                expected_ = damage.last_record + 1;
                lost = missing(first, damage.last_record, LostReason::damaged);
                return Step::lost;
            }
            case ReadOutcome::record: break;
        }
        const bool is_sought = view.record >= expected_;  // not before the position that was requested
        if (is_sought) {
            expected_ = view.record + 1;
            passed_over_ = false;
        }
        if (view.kind == RecordKind::name) {
            NameRecord name;
            if (view.copy_to(name)) learn(name);
            continue;
        }
        if (!is_sought) continue;
        position_.record = view.record;
        position_.ring = view.ring;
        return Step::record;
    }
}

/// By bisection, the segments that decide where a place is: the last one before it, the first one that is not, and what
/// lies between them, which cannot be read, was not started or does not say. is_before: nothing where a segment does
/// not say.
template <class Before>
std::vector<SegmentFile> JournalReader::around(Before is_before) {
    const auto files = list_segments(folder_);
    const auto look = [&](std::size_t index) -> std::optional<bool> {
        auto segment = look_into_started(files[index]);
        return segment ? is_before(*segment) : std::nullopt;
    };
    std::size_t found = 0;
    std::size_t last = files.size();
    for (std::size_t first = 0; first < last;) {
        const auto middle = first + (last - first) / 2;
        auto at = middle;
        auto before = look(at);
        while (!before && at > first) before = look(--at);
        if (before && !*before) {
            last = at;
        } else {
            if (before) found = at;
            first = middle + 1;
        }
    }
    const auto begin = files.begin();
    return {begin + static_cast<std::ptrdiff_t>(found),
            begin + static_cast<std::ptrdiff_t>(std::min(last + 1, files.size()))};
}

void JournalReader::seek(std::uint64_t record) {
    segment_.reset();
    ordinal_ = 0;
    names_.clear();
    position_ = {};
    expected_ = record;
    std::optional<SegmentFile> target;
    const auto is_before = [record](const SegmentReader& segment) -> std::optional<bool> {
        return segment.identity().first_record <= record;
    };
    for (const auto& file : around(is_before)) {
        const auto segment = look_into_started(file);
        if (!segment) continue;
        const auto first = segment->identity().first_record;
        if (!target) expected_ = std::max(record, first);  // older ones are gone: start with the oldest
        if (target && first > record) break;
        target = file;
    }
    passed_over_ = false;  // records after the target are skipped again when poll gets there
    if (!target || !try_open(*target)) return;
    segment_->seek(expected_);
}

void JournalReader::seek_time(std::int64_t utc_ns) {
    std::uint64_t target = 1;
    const auto is_before = [utc_ns](SegmentReader& segment) -> std::optional<bool> {
        const auto newest = newest_time(segment);
        if (newest == 0) return std::nullopt;  // it holds no event yet
        return newest < utc_ns;
    };
    for (const auto& file : around(is_before)) {
        auto segment = look_into_started(file);
        if (!segment) continue;
        target = segment->identity().first_record;
        if (newest_time(*segment) >= utc_ns) break;
    }
    seek(target);
    if (!segment_) return;
    segment_->seek_time(utc_ns);
    expected_ = segment_->next_record();
    // At most an index block of records lies before the time; the last of them is read again by poll.
    RecordView view;
    for (;;) {
        const auto outcome = segment_->next(view);
        if (outcome == ReadOutcome::record) {
            const auto time = receive_time(view);
            if (time && *time >= utc_ns) break;
        } else if (outcome != ReadOutcome::damaged) {
            break;
        }
        expected_ = segment_->next_record();
    }
    segment_->seek(expected_);
}

}  // namespace millpond::journal
