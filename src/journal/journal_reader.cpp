#include <millpond/journal/journal_reader.hpp>

#include <algorithm>
#include <utility>

#include <millpond/journal/channel_depth.hpp>

namespace millpond::journal {

JournalReader::JournalReader(std::filesystem::path folder) : folder_(std::move(folder)) {
    static_cast<void>(list_segments(folder_));  // checks that the folder exists
}

void JournalReader::pass_over(const SegmentFile& file, const std::exception& error) {
    if (!is_segment_failure(error)) throw;
    if (!std::filesystem::exists(std::filesystem::symlink_status(file.path))) return;  // removed by retention meanwhile
    passed_over_ = true;
    note_fault(file, std::string{error.what()} + "; passed over");
}

void JournalReader::note_fault(const SegmentFile& file, const std::string& what) {
    if (faulty_.insert(file.ordinal).second) faults_.push_back(what);
}

/// Opens a segment; nullopt if it cannot be read.
std::optional<SegmentReader> JournalReader::reader_of(const SegmentFile& file) {
    try {
        return std::optional<SegmentReader>{std::in_place, file.path};
    } catch (const std::exception& error) {
        pass_over(file, error);
        return std::nullopt;
    }
}

/// Like reader_of; also nullopt if the segment is unused.
std::optional<SegmentReader> JournalReader::reader_of_started(const SegmentFile& file) {
    if (!SegmentReader::is_started(file.path)) return std::nullopt;
    return reader_of(file);
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
    entered_ = false;
    is_of_other_ring_ = !selected_ring_.empty() && segment_->identity().ring.view() != selected_ring_;
    if (!segment_->fault().empty())
        note_fault(file, file.path.string() + ": " + segment_->fault() + "; its records are read");
    if (segment_->identity().epoch != position_.epoch) names_.clear();
    position_.epoch = segment_->identity().epoch;
    depths_.clear();
    segment_->for_each_description([this](const auto& record) { learn(record); });
    return true;
}

/// Started segments after `ordinal`, in order. Skips files that should be started and are not.
std::vector<SegmentFile> JournalReader::started_behind(std::uint64_t ordinal) {
    std::vector<SegmentFile> started;
    std::vector<SegmentFile> others;
    for (auto& file : list_segments(folder_)) {
        if (file.ordinal <= ordinal) continue;
        (SegmentReader::is_started(file.path) ? started : others).push_back(std::move(file));
    }
    const auto newest = std::max(started.empty() ? 0 : started.back().ordinal, newest_started(folder_));
    for (const auto& file : others) {
        // Segments are started in order before they are filled: these were started before the second check.
        if (file.ordinal > newest && !SegmentReader::is_filled(file.path)) continue;
        if (SegmentReader::is_started(file.path)) {
            started.push_back(file);
        } else {
            static_cast<void>(reader_of(file));
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
        waits_ = next.ordinal;  // unused yet
        return std::nullopt;
    }
    const auto started = started_behind(ordinal_);
    return started.empty() ? std::nullopt : std::optional{started.front()};
}

/// Returns true if the open segment has ended although its header does not say so: its writer has continued in another
/// one. Records appended before that are visible now and must be read first.
bool JournalReader::find_over() {
    const auto next = next_started();
    if (!next) return false;
    const auto segment = reader_of(*next);
    const auto first = segment ? segment->identity().first_record : 0;
    segment_->set_over(first >= segment_->next_record() ? first : 0);
    return true;
}

void JournalReader::learn(const NameRecord& name) {
    // Ids are indexes into a board, so valid ones are small; a damaged one must not allocate memory.
    if (name.instrument >= market::kMaxInstruments) return;
    if (name.instrument >= names_.size()) names_.resize(std::size_t{name.instrument} + 1);
    names_[name.instrument] =
        market::Instrument{name.venue, name.symbol, std::min(name.decimals, feed::kPriceDecimals)};
}

void JournalReader::learn(const ChannelRecord& channel) {
    if (channel.channel >= market::kMaxChannels) return;
    if (channel.channel >= depths_.size()) depths_.resize(std::size_t{channel.channel} + 1);
    depths_[channel.channel] = depth_of(channel);
}

market::ChannelDepth JournalReader::depth(std::uint16_t channel) const noexcept {
    return channel < depths_.size() ? depths_[channel] : market::ChannelDepth{};
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

/// Whether a record that has no event of the ring is a valid part of a checkpoint.
bool JournalReader::is_of_checkpoint(const RecordView& view) noexcept {
    if (view.kind == RecordKind::book) return book_part(view).has_value();
    CheckpointRecord end;
    return view.kind == RecordKind::checkpoint && view.copy_to(end) && end.first_record < view.record;
}

JournalReader::Step JournalReader::step(RecordView& view, LostRecord& lost, bool with_books) {
    for (;;) {
        if (!segment_ && !open_next()) return Step::nothing;
        const auto begin = segment_->next_record();
        if (expected_ == 0) expected_ = begin;
        if (begin > expected_) {
            const bool is_between = side_ != Side::selected && side_of(*segment_) == side_;
            lost = missing(expected_, begin - 1, passed_over_ ? LostReason::damaged : LostReason::removed);
            expected_ = begin;
            passed_over_ = false;
            if (is_between) continue;
            return Step::lost;
        }
        if (!entered_) enter_segment();
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
                if (damage.last_record < damage.first_record) continue;  // cut off after the last complete record
                const auto first = std::max(damage.first_record, expected_);
                if (damage.last_record < first) continue;
                expected_ = damage.last_record + 1;
                if (is_of_other_ring_) continue;
                lost = missing(first, damage.last_record, LostReason::damaged);
                return Step::lost;
            }
            case ReadOutcome::record: break;
        }
        const bool is_sought = view.record >= expected_;  // not before the requested position
        if (is_sought) {
            expected_ = view.record + 1;
            passed_over_ = false;
        }
        passed_.record = view.record;
        if (NameRecord name; view.kind == RecordKind::name && view.copy_to(name)) {
            learn(name);
            continue;
        }
        if (ChannelRecord channel; view.kind == RecordKind::channel && view.copy_to(channel)) {
            learn(channel);
            continue;
        }
        if (is_of_ring(view.kind) && !is_of_other_ring_) {
            passed_.epoch = segment_->identity().epoch;
            passed_.ring = view.ring;
        }
        if (!is_sought) continue;
        if (!is_of_ring(view.kind)) {
            if (is_of_other_ring_) continue;
            if (!is_of_checkpoint(view)) {
                lost = missing(view.record, view.record, LostReason::damaged);
                return Step::lost;
            }
            if (!with_books || view.kind != RecordKind::book || is_skipped(view)) continue;
            position_.record = view.record;
            position_.ring = view.ring;
            return Step::record;
        }
        if (is_skipped(view) || !is_selected(view)) {
            ++left_out_;
            return Step::left_out;
        }
        position_.record = view.record;
        position_.ring = view.ring;
        return Step::record;
    }
}

/// Finds, by bisection, the segments that determine where a record is: the last one that begins with it or before it,
/// the next one, and those between them, which cannot be read or were not started.
std::vector<SegmentFile> JournalReader::around(std::uint64_t record) {
    const auto files = list_segments(folder_);
    const auto begins_before = [&](std::size_t index) -> std::optional<bool> {
        const auto segment = reader_of_started(files[index]);
        if (!segment) return std::nullopt;
        return segment->identity().first_record <= record;
    };
    std::size_t found = 0;
    std::size_t last = files.size();
    for (std::size_t first = 0; first < last;) {
        const auto middle = first + (last - first) / 2;
        auto at = middle;
        auto before = begins_before(at);
        while (!before && at > first) before = begins_before(--at);
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
    passed_ = {};
    expected_ = record;
    side_ = Side::selected;
    newest_utc_ns_ = kTimeUnknown;
    std::optional<SegmentFile> target;
    for (const auto& file : around(record)) {
        const auto segment = reader_of_started(file);
        if (!segment) continue;
        const auto first = segment->identity().first_record;
        if (!target) expected_ = std::max(record, first);  // older ones were removed: start with the oldest
        if (target && first > record) break;
        target = file;
    }
    passed_over_ = false;  // records after the target are skipped again when poll gets there
    if (!target || !try_open(*target)) return;
    segment_->seek(expected_);
}

void JournalReader::select(std::optional<std::int64_t> since, std::optional<std::int64_t> until) noexcept {
    since_ = since;
    until_ = until;
}

void JournalReader::skip(std::uint64_t epoch, std::uint64_t ring) noexcept {
    skipped_epoch_ = epoch;
    skipped_ring_ = ring;
    entered_ = false;
}

JournalReader::Side JournalReader::side_of(const SegmentReader& segment) const noexcept {
    if (!segment.ended()) return Side::selected;
    const auto& tail = *segment.tail();
    if (until_ && tail.oldest_utc_ns >= *until_) return Side::behind;
    return since_ && tail.newest_utc_ns < *since_ ? Side::before : Side::selected;
}

/// Moves to the end of the open segment, which has ended.
void JournalReader::pass_segment() noexcept {
    segment_->seek_end();
    const auto& tail = *segment_->tail();
    passed_.record = tail.next_record - 1;
    if (tail.last_ring == 0 || is_of_other_ring_) return;
    passed_.epoch = segment_->identity().epoch;
    passed_.ring = tail.last_ring;
}

/// Moves to the first place in the open segment that may have selected events.
void JournalReader::enter_segment() {
    entered_ = true;
    side_ = side_of(*segment_);
    if (is_of_other_ring_) {
        if (segment_->ended()) pass_segment();
    } else if (side_ != Side::selected) {
        newest_utc_ns_ = std::max(newest_utc_ns_, segment_->tail()->newest_utc_ns);
        pass_segment();
    } else if (since_) {
        segment_->seek_time(*since_);
    } else if (skipped_ring_ != 0 && segment_->identity().epoch == skipped_epoch_) {
        if (segment_->ended() && segment_->tail()->last_ring <= skipped_ring_) {
            pass_segment();
        } else {
            segment_->skip_ring(skipped_ring_);
        }
        // Some of the names may be in the records that are left out.
        segment_->for_each_description([this](const auto& record) { learn(record); });
    }
    expected_ = std::max(expected_, segment_->next_record());
}

bool JournalReader::is_selected(const RecordView& view) noexcept {
    const auto time = receive_time(view).value_or(0);
    if (time == 0) return true;
    const bool early = since_ && time < *since_;
    const bool late = until_ && time >= *until_;
    // The journal noticed a loss after it ended: the lost events are later than the event before it.
    if (view.kind == RecordKind::lost) return !early && (!late || newest_utc_ns_ < *until_);
    newest_utc_ns_ = std::max(newest_utc_ns_, time);
    return !early && !late;
}

}  // namespace millpond::journal
