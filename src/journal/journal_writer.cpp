#include <millpond/journal/journal_writer.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

#include <millpond/core/created_file.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/channel_depth.hpp>
#include <millpond/journal/checkpoint.hpp>
#include <millpond/journal/journal_error.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "kept_numbers.hpp"

namespace millpond::journal {
namespace {

constexpr std::uint64_t kMinSegmentBytes = std::uint64_t{1} << 20U;
constexpr std::int64_t kRetentionEveryNs = 1'000'000'000;
constexpr std::int64_t kSearchEveryNs = 1'000'000'000;
constexpr std::int64_t kOpenEveryNs = 1'000'000'000;

WriterOptions checked(const WriterOptions& options) {
    const auto refuse = [](const std::string& what) { throw std::invalid_argument("journal: " + what); };
    if (options.folder.empty()) refuse("no folder is named");
    if (options.segment_bytes < kMinSegmentBytes || options.segment_bytes > kMaxSegmentBytes ||
        options.segment_bytes % kIndexBlockBytes != 0) {
        refuse("segment_bytes " + std::to_string(options.segment_bytes) +
               ": needs a multiple of 65536 from 1048576 to 34359738368");
    }
    if (!RingName::fits(options.ring)) refuse("ring name '" + options.ring + "' has more than 64 characters");
    return options;
}

memory::Region acquire_lock(const std::filesystem::path& folder, std::uint32_t mode) {
    core::create_folders(folder, mode);
    try {
        return memory::Region::file(folder / kLockName, 1, {.exclusive = true, .mode = mode});
    } catch (const memory::RegionError& error) {
        if (error.code().value() != EBUSY) throw;
        throw JournalError(folder.string() + ": another process writes this journal");
    }
}

/// The first number of a segment; 0 if unknown.
std::uint64_t first_record_of(const SegmentFile& file) {
    try {
        return SegmentReader{file.path}.identity().first_record;
    } catch (const std::exception& error) {
        if (!is_segment_failure(error)) throw;
        return 0;
    }
}

/// True if the interval has passed. If the clock was set back, everything is due now, not only when the clock has
/// caught up.
bool is_due(std::int64_t now_ns, std::int64_t last_ns, std::int64_t interval_ns) noexcept {
    return now_ns < last_ns || now_ns - last_ns >= interval_ns;
}

bool is_disk_full(const std::system_error& error) noexcept {
    return error.code() == std::errc::no_space_on_device || error.code().value() == EDQUOT;
}

/// First record of the checkpoint that the segment needs; 0: none.
std::uint64_t needed_checkpoint(const std::filesystem::path& folder, const SegmentInfo& segment) {
    if (segment.needed_checkpoint) return *segment.needed_checkpoint;
    const auto origin = find_books_before(folder, segment.first_record);
    return origin && origin->checkpoint ? origin->record : 0;
}

/// Applies the events of a journal to books.
struct Restored {
    static constexpr bool kReadsCheckpoints = true;

    template <class Event>
    void on(const Event& event) {
        if (is_of_epoch() && reach(reader.current().ring)) books.on(event);
    }
    void on(const LostRecord& lost) {
        if (!is_of_epoch()) return;
        books.on(queue::MissedRange{lost.first, lost.last});
        static_cast<void>(reach(reader.current().ring));
    }
    void on(const BookPart& part) {
        if (!is_of_epoch()) return;
        // The state of a channel is that of all books only where there are none yet.
        const bool is_late = part.head.instrument == feed::kNoInstrument && reader.current().record > origin_end;
        const auto newest = reader.current().ring;
        if (ring == 0) ring = newest;
        static_cast<void>(reach(newest + 1));
        ring = newest;
        if (!is_late) parts.add(part, books);
    }
    [[nodiscard]] bool is_of_epoch() const noexcept { return reader.current().epoch == epoch; }
    /// Makes the books incomplete if entries before this one are missing. Returns false if they include it.
    bool reach(std::uint64_t number) {
        if (number == 0) return true;
        if (number <= ring) return false;
        if (ring != 0 && number != ring + 1) books.on(queue::MissedRange{ring + 1, number - 1});
        ring = number;
        return true;
    }

    KeptBooks& books;
    const JournalReader& reader;
    std::uint64_t epoch;
    std::uint64_t origin_end;  ///< Last record of the checkpoint with which the books begin; 0: none.
    std::uint64_t ring{0};     ///< Newest entry in the books; 0: unknown.
    BookAssembler parts{};
};

}  // namespace

JournalWriter::JournalWriter(const WriterOptions& options, std::int64_t utc_ns)
    : options_(checked(options)), pid_(getpid()), now_utc_ns_(utc_ns), opened_ns_(utc_ns), synced_ns_(utc_ns) {
    if (!open()) return;
    try {
        prepared_.store(allocate_next().release(), std::memory_order_relaxed);
    } catch (const std::system_error& error) {
        if (!is_disk_full(error)) throw;
        note(counters_.allocation_errors, error);
    }
}

bool JournalWriter::open() try {
    if (lock_.bytes().empty()) lock_ = acquire_lock(options_.folder, options_.file_mode);
    recover();
    is_open_.store(true, std::memory_order_release);  // sync "journal opened": service, followers
    return true;
} catch (const std::system_error& error) {
    if (!is_disk_full(error)) throw;
    counters_.allocation_errors.add();  // service, which also counts them, has not started
    open_error_ = error.what();
    return false;
}

JournalWriter::~JournalWriter() {
    const bool ours = pid_ == getpid();
    if (ours && current_ != nullptr) retire();
    if (ours) end_retired();
    // If `retired_` is full, the next writer's recovery ends the segment.
    const std::unique_ptr<SegmentWriter> unused{prepared_.load(std::memory_order_relaxed)};
    if (ours && unused != nullptr) {
        std::error_code ignored;  // the next writer removes it then
        std::filesystem::remove(unused->file().path, ignored);
    }
}

void JournalWriter::recover() {
    const auto kept = read_numbers(lock_.bytes());
    const auto files = list_segments(options_.folder);
    std::uint64_t newest = 0;  // ordinal
    bool is_whole = true;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto& file = files[i];
        next_ordinal_ = file.ordinal + 1;
        if (file.ordinal > kept.ordinal && SegmentReader::is_blank(file.path)) {
            std::filesystem::remove(file.path);
            continue;
        }
        try {
            is_whole = recover(file, i + 1 < files.size() ? first_record_of(files[i + 1]) : 0);
            newest = file.ordinal;
        } catch (const std::exception& error) {
            if (!is_segment_failure(error)) throw;
            std::error_code unknown;
            const auto bytes = std::filesystem::file_size(file.path, unknown);
            set_aside_.push_back(std::string{error.what()} + "; renamed to " + set_aside(file).filename().string());
            // Never reuses a number that the segment may have assigned: a consumer may have seen it.
            if (!unknown) next_record_ += bytes / kMinRecordBytes;
        }
    }
    next_ordinal_ = std::max(next_ordinal_, kept.ordinal + 1);
    recover_channels(files, newest);
    // The newest segment was removed or cut off: a consumer may have seen its numbers.
    if (kept.ordinal > newest || (kept.ordinal == newest && !is_whole))
        next_record_ = std::max(next_record_, kept.next_record);
    newest = std::max(newest, kept.ordinal);
    if (newest != 0) write_numbers(lock_.bytes(), {.ordinal = newest, .next_record = next_record_});
    counters_.set_aside_segments.set(set_aside_.size());
    counters_.newest_record.set(next_record_ - 1);
    counters_.synced_record.set(options_.sync == Sync::none ? 0 : next_record_ - 1);
}

/// Returns false if the file was cut off.
bool JournalWriter::recover(const SegmentFile& file, std::uint64_t next_record) {
    const auto found = end_dead_segment(file.path, next_record);
    if (!found.fault.empty()) repaired_.push_back(file.path.string() + ": " + found.fault + "; its records are kept");
    const auto epoch = found.identity.epoch;
    session_ = std::max<std::uint64_t>(found.identity.session, 1);
    next_record_ = std::max(next_record_, found.tail.next_record);
    if (epoch != epoch_) last_ring_ = 0;
    newest_utc_ns_ = std::max(newest_utc_ns_, found.tail.newest_utc_ns);
    if (found.tail.last_ring > last_ring_) last_ring_ = found.tail.last_ring;
    epoch_ = epoch;
    return std::filesystem::file_size(file.path) >= found.identity.segment_bytes;
}

/// Reads the channels of the newest segment: entries that the ring still has are of the same feeds.
void JournalWriter::recover_channels(const std::vector<SegmentFile>& files, std::uint64_t newest) {
    depths_.clear();
    const auto file = std::ranges::find(files, newest, &SegmentFile::ordinal);
    if (file == files.end()) return;
    const SegmentReader segment{file->path};
    segment.for_each_description([&]<class Record>(const Record& record) {
        if constexpr (std::is_same_v<Record, ChannelRecord>) {
            if (record.channel >= market::kMaxChannels) return;
            if (record.channel >= depths_.size()) depths_.resize(std::size_t{record.channel} + 1);
            depths_[record.channel] = depth_of(record);
        }
    });
}

std::uint64_t JournalWriter::resume_at(std::uint64_t epoch) const noexcept {
    return epoch == epoch_ ? last_ring_ + 1 : 1;
}

void JournalWriter::set_epoch(std::uint64_t epoch) noexcept {
    if (epoch == epoch_) return;
    if (current_ != nullptr) retire();
    names_.clear();
    depths_.clear();
    epoch_ = epoch;
    session_ = 1;
    last_ring_ = 0;
    needed_checkpoint_ = 0;
    if (checkpoints_) checkpoints_->reset();
}

void JournalWriter::keep_books() {
    checkpoints_ = std::make_unique<CheckpointWriter>(
        CheckpointWriter::Options{.interval = options_.checkpoint_interval, .slice = options_.checkpoint_slice},
        [this](std::uint16_t channel) {
            return restored_from_ != nullptr ? restored_from_->depth(channel) : depth(channel);
        });
    checkpoints_->set_newest(newest_utc_ns_);
    if (last_ring_ != 0 && has_depth()) restore_books();
}

/// Reads the events since the newest checkpoint, if they are few: the ring does not wait.
void JournalWriter::restore_books() {
    constexpr std::uint64_t kMaxRecords = 500'000;
    const auto origin = find_books_before(options_.folder, next_record_);
    if (origin && origin->checkpoint) needed_checkpoint_ = origin->record;
    if (!origin || next_record_ - origin->record > kMaxRecords) return;
    JournalReader reader{options_.folder};
    reader.seek(origin->record);
    Restored restored{.books = checkpoints_->books(),
                      .reader = reader,
                      .epoch = epoch_,
                      .origin_end = origin->checkpoint ? origin->checkpoint->last : 0};
    {
        struct End {
            ~End() { from = nullptr; }
            const JournalReader*& from;
        };
        restored_from_ = &reader;
        const End end{restored_from_};
        while (reader.poll(restored, SIZE_MAX) != 0) {
        }
    }
    if (restored.ring != last_ring_) restored.books.on(queue::MissedRange{restored.ring + 1, last_ring_});
}

bool JournalWriter::has_depth() const noexcept {
    return std::ranges::any_of(depths_, [](const auto& depth) { return depth && depth->is_on(); });
}

bool JournalWriter::begin_session() noexcept {
    if (current_ != nullptr && prepared_.load(std::memory_order_relaxed) != nullptr) retire();
    if (current_ != nullptr) return false;
    ++session_;
    return true;
}

void JournalWriter::name(feed::InstrumentId id, const market::Instrument& instrument) {
    // At most half of a segment, so that one that begins with all names has space for events.
    if (id >= options_.segment_bytes / 2 / kRecordBytes<NameRecord>) return counters_.unnamed.add();
    if (id >= names_.size()) names_.resize(std::size_t{id} + 1);
    names_[id] = instrument;
    // If the name does not fit into the segment, the next one begins with all names.
    if (current_ != nullptr && !write_name(id)) retire();
}

void JournalWriter::change_depth(std::uint16_t channel, market::ChannelDepth depth) {
    if (channel >= depths_.size()) depths_.resize(std::size_t{channel} + 1);
    const bool is_first = !std::exchange(depths_[channel], depth);
    if (current_ == nullptr) return;
    // The first depth of a channel describes all its events in the segment: a feed sets it before its first one.
    if (!is_first || !write_channel(channel)) rolls_ = true;
}

bool JournalWriter::write_channel(std::uint16_t channel) noexcept {
    // At most an eighth of a segment, like names in `name`.
    if (channel >= options_.segment_bytes / 8 / kRecordBytes<ChannelRecord>) {
        counters_.unnamed.add();
        return true;
    }
    const auto depth = this->depth(channel);
    if (!current_->append_channel({.channel = channel, .depth = depth.depth, .orders = depth.orders ? 1U : 0U}))
        return false;
    count(kRecordBytes<ChannelRecord>);
    return true;
}

bool JournalWriter::write_name(feed::InstrumentId id) noexcept {
    const auto& name = *names_[id];
    if (!current_->append_name(
            {.instrument = id, .decimals = name.decimals, .venue = name.venue, .symbol = name.symbol})) {
        return false;
    }
    count(kRecordBytes<NameRecord>);
    return true;
}

bool JournalWriter::open_segment() noexcept {
    current_.reset(prepared_.exchange(nullptr, std::memory_order_acquire));  // sync "segment allocated": prepare
    if (current_ == nullptr) return false;
    // Without books, retention need not keep the newest checkpoint.
    current_->begin({.ring = RingName{options_.ring},
                     .epoch = epoch_,
                     .session = session_,
                     .first_record = next_record_,
                     .begun_utc_ns = now_utc_ns_},
                    checkpoints_ && has_depth() ? needed_checkpoint_ : 0);
    write_numbers(lock_.bytes(), {.ordinal = current_->file().ordinal,
                                  .next_record = next_record_ + options_.segment_bytes / kMinRecordBytes});
    growing_.store(current_.get(), std::memory_order_release);  // sync "segment started": sync_if_due
    counters_.segments.add();
    for (feed::InstrumentId id = 0; id < names_.size(); ++id) {
        if (names_[id]) static_cast<void>(write_name(id));  // it fits: see name
    }
    for (std::size_t channel = 0; channel < depths_.size(); ++channel) {
        const auto number = static_cast<std::uint16_t>(channel);
        if (depth(number).is_on()) static_cast<void>(write_channel(number));  // likewise
    }
    first_event_ = next_record_;
    rolls_ = false;
    return true;
}

void JournalWriter::retire() noexcept {
    if (options_.sync == Sync::each) {
        try {
            sync();
        } catch (const std::system_error&) {
            return;  // the next append is refused, and the caller's next sync reports why
        }
    }
    growing_.store(nullptr, std::memory_order_relaxed);  // released by the push below
    const auto ordinal = current_->file().ordinal;
    const bool is_full = current_->free_bytes() < kMaxRecordWords * 8;
    if (retired_.try_push(std::move(current_))) {
        if (checkpoints_) checkpoints_->begin_segment(is_full);
        write_numbers(lock_.bytes(), {.ordinal = ordinal, .next_record = next_record_});
    } else {
        growing_.store(current_.get(), std::memory_order_relaxed);
    }
}

bool JournalWriter::append_lost(LostRecord lost) noexcept {
    const bool done = appended(kRecordBytes<LostRecord>, [&](SegmentWriter& segment) {
        return segment.append(RecordKind::lost, lost.last, lost, lost.utc_ns);
    });
    if (!done) return false;
    last_ring_ = lost.last;
    if (checkpoints_) checkpoints_->on(lost);
    counters_.lost.add(lost.count());
    return true;
}

template <class Write>
void JournalWriter::write_checkpoint(const Write& write) noexcept {
    using Outcome = CheckpointWriter::Outcome;
    const auto offset = current_->offset();
    const auto outcome = write();
    const auto records = current_->next_record() - next_record_;
    next_record_ += records;
    counters_.records.add(records);
    counters_.newest_record.set(next_record_ - 1);
    counters_.bytes.add(current_->offset() - offset);
    if (outcome == Outcome::nothing) return;
    counters_.checkpoint_bytes.set(checkpoints_->bytes());
    if (outcome == Outcome::too_large) {
        needed_checkpoint_ = 0;  // as in open_segment
        return counters_.checkpoint_errors.add();
    }
    needed_checkpoint_ = checkpoints_->newest();
    counters_.checkpoints.add();
}

void JournalWriter::step(std::int64_t utc_ns) noexcept {
    now_utc_ns_ = utc_ns;
    if (!is_open_.load(std::memory_order_relaxed)) {
        if (!is_due(utc_ns, opened_ns_, kOpenEveryNs)) return;
        opened_ns_ = utc_ns;
        // Values set meanwhile take precedence over those of the journal.
        const auto epoch = epoch_;
        auto names = std::exchange(names_, {});
        auto depths = std::exchange(depths_, {});
        try {
            open();
        } catch (const std::exception& error) {  // another process writes the journal by now
            open_error_ = error.what();
        }
        set_epoch(epoch);
        names_ = std::move(names);
        if (checkpoints_) checkpoints_->set_newest(newest_utc_ns_);
        if (!depths.empty()) depths_ = std::move(depths);
        return;
    }
    if (current_ != nullptr && moved_.load(std::memory_order_relaxed) == current_.get()) retire();
    const bool may_roll = current_ != nullptr && options_.roll_after.count() != 0 && next_record_ != first_event_;
    if (may_roll && utc_ns - current_->header().begun_utc_ns >= options_.roll_after.count()) retire();
    if (!checkpoints_) return;
    const auto set = [](core::Tally& tally, std::chrono::nanoseconds time) {
        tally.set(static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(time).count()));
    };
    set(counters_.checkpoint_age_seconds, checkpoints_->age(utc_ns));
    set(counters_.checkpoint_overdue_seconds, checkpoints_->overdue(utc_ns));
    const bool has_next = prepared_.load(std::memory_order_relaxed) != nullptr;
    if (current_ != nullptr && has_next && checkpoints_->needs_segment(utc_ns)) retire();
    if (current_ != nullptr && !rolls_)
        write_checkpoint([this] { return checkpoints_->step(*current_, last_ring_, now_utc_ns_); });
}

void JournalWriter::end_books() noexcept {
    if (!checkpoints_ || current_ == nullptr || rolls_) return;
    write_checkpoint([this] { return checkpoints_->finish(*current_, last_ring_, now_utc_ns_); });
}

void JournalWriter::sync() {
    if (current_ == nullptr) return;
    current_->sync();
    counters_.synced_record.set(next_record_ - 1);
}

bool JournalWriter::service(std::int64_t utc_ns) noexcept {
    if (!is_open_.load(std::memory_order_acquire)) return false;  // sync "journal opened": open
    bool did = prepare();
    did = end_retired() || did;
    did = sync_if_due(utc_ns) || did;
    did = find_moved(utc_ns) || did;
    return remove_old(utc_ns) || did;
}

std::optional<std::string> JournalWriter::pop_error() { return std::exchange(error_, std::nullopt); }

void JournalWriter::note(core::Tally& counter, const std::exception& error) noexcept {
    counter.add();
    try {
        error_ = error.what();
    } catch (const std::bad_alloc&) {
        error_.reset();
    }
}

std::unique_ptr<SegmentWriter> JournalWriter::allocate_next() {
    auto segment =
        std::make_unique<SegmentWriter>(SegmentFile{next_ordinal_, segment_path(options_.folder, next_ordinal_)},
                                        options_.segment_bytes, options_.file_mode);
    ++next_ordinal_;
    return segment;
}

bool JournalWriter::prepare() noexcept {
    if (prepared_.load(std::memory_order_relaxed) != nullptr) return false;
    try {
        prepared_.store(allocate_next().release(),
                        std::memory_order_release);  // sync "segment allocated": open_segment
        return true;
    } catch (const std::exception& error) {
        note(counters_.allocation_errors, error);
        return false;
    }
}

bool JournalWriter::end_retired() noexcept {
    std::unique_ptr<SegmentWriter> segment;
    bool did = false;
    for (; retired_.try_pop(segment); did = true) {
        segment->end();
        if (moved_.load(std::memory_order_relaxed) == segment.get()) {
            moved_.store(nullptr, std::memory_order_relaxed);  // its address may soon be reused
        }
        if (options_.sync == Sync::none) continue;
        try {
            segment->sync();
            if (options_.sync == Sync::interval) counters_.synced_record.set(segment->next_record() - 1);
        } catch (const std::exception& error) {
            note(counters_.sync_errors, error);
        }
    }
    return did;
}

bool JournalWriter::sync_if_due(std::int64_t utc_ns) noexcept {
    if (options_.sync != Sync::interval || !is_due(utc_ns, synced_ns_, options_.sync_interval.count())) return false;
    synced_ns_ = utc_ns;
    // Only this thread deletes segments, so the pointer stays valid. sync "segment started": open_segment
    const auto* segment = growing_.load(std::memory_order_acquire);
    if (segment == nullptr) return false;
    const auto next = segment->next_record();
    if (next - 1 <= counters_.synced_record.read()) return false;
    try {
        segment->sync();
        counters_.synced_record.set(next - 1);
        return true;
    } catch (const std::exception& error) {
        note(counters_.sync_errors, error);
        return false;
    }
}

bool JournalWriter::find_moved(std::int64_t utc_ns) noexcept {
    if (!is_due(utc_ns, searched_ns_, kSearchEveryNs)) return false;
    searched_ns_ = utc_ns;
    const auto tell = [this](const SegmentWriter& segment, const char* what) {
        try {
            throw JournalError(segment.file().path.string() + what);
        } catch (const std::exception& error) {  // or because of a lack of memory
            note(counters_.allocation_errors, error);
        }
    };
    // Only this thread deletes segments. sync "segment started": open_segment
    const auto* growing = growing_.load(std::memory_order_acquire);
    if (growing != nullptr && moved_.load(std::memory_order_relaxed) != growing && !growing->is_in_place()) {
        moved_.store(growing, std::memory_order_relaxed);
        tell(*growing, " was moved or removed while it was written: its records are no longer in the journal");
    }
    auto* prepared = prepared_.load(std::memory_order_acquire);  // sync "segment allocated": prepare
    if (prepared == nullptr || prepared->is_in_place()) return false;
    if (!prepared_.compare_exchange_strong(prepared, nullptr, std::memory_order_acquire)) return false;
    tell(*prepared, " was moved or removed before it was used; another one is allocated");
    delete prepared;
    return true;
}

bool JournalWriter::remove_old(std::int64_t utc_ns) noexcept {
    if (options_.keep_bytes == 0 && options_.keep_for.count() == 0) return false;
    if (!is_due(utc_ns, retention_ns_, kRetentionEveryNs)) return false;
    retention_ns_ = utc_ns;
    bool did = false;
    try {
        const auto segments = describe_segments(options_.folder);
        std::uint64_t total = 0;
        // The newest segment with records is not removed: the next writer continues its numbers.
        std::uint64_t newest = 0;
        for (const auto& segment : segments) {
            total += segment.disk_bytes;
            if (segment.state != SegmentState::waiting) newest = segment.file.ordinal;
        }
        const auto is_too_old = [&](const SegmentInfo& segment) {
            return options_.keep_for.count() != 0 && utc_ns - segment.newest_utc_ns > options_.keep_for.count();
        };
        // Readers of the oldest segment that is young enough begin with its checkpoint.
        const auto first_kept = std::ranges::find_if(segments, [&](const SegmentInfo& segment) {
            return segment.file.ordinal == newest || (segment.state == SegmentState::ended && !is_too_old(segment));
        });
        const bool has_older = first_kept != segments.end() && first_kept != segments.begin();
        const auto needed = has_older ? needed_checkpoint(options_.folder, *first_kept) : 0;
        for (const auto& segment : segments) {
            if (segment.file.ordinal == newest) break;
            // Damaged since the start: the next writer repairs it or sets it aside.
            if (segment.state != SegmentState::ended && !segment.error.empty()) continue;
            if (segment.state != SegmentState::ended) break;
            const bool is_needed = needed != 0 && segment.next_record > needed;
            const bool too_old = is_too_old(segment) && !is_needed;
            const bool too_much = options_.keep_bytes != 0 && total > options_.keep_bytes;
            if (!too_old && !too_much) break;
            total -= segment.disk_bytes;
            std::filesystem::remove(segment.file.path);
            counters_.removed_segments.add();
            did = true;
        }
    } catch (const std::exception& error) {
        note(counters_.allocation_errors, error);
    }
    return did;
}

}  // namespace millpond::journal
