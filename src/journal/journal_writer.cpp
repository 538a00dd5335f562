#include <millpond/journal/journal_writer.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <millpond/core/created_file.hpp>
#include <millpond/journal/journal_error.hpp>
#include <millpond/journal/journal_reader.hpp>

#include "is_due.hpp"
#include "kept_numbers.hpp"

namespace millpond::journal {
namespace {

constexpr std::uint64_t kMinSegmentBytes = std::uint64_t{1} << 20U;
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

bool is_disk_full(const std::system_error& error) noexcept {
    return error.code() == std::errc::no_space_on_device || error.code().value() == EDQUOT;
}

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

}  // namespace millpond::journal
