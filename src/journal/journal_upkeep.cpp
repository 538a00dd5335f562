#include <millpond/journal/journal_writer.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/checkpoint.hpp>
#include <millpond/journal/journal_error.hpp>

#include "is_due.hpp"

/// JournalWriter's functions of the servicing thread.
namespace millpond::journal {
namespace {

constexpr std::int64_t kRetentionEveryNs = 1'000'000'000;
constexpr std::int64_t kSearchEveryNs = 1'000'000'000;

/// First record of the checkpoint that the segment needs; 0: none.
std::uint64_t needed_checkpoint(const std::filesystem::path& folder, const SegmentInfo& segment) {
    if (segment.needed_checkpoint) return *segment.needed_checkpoint;
    const auto origin = find_books_before(folder, segment.first_record);
    return origin && origin->checkpoint ? origin->record : 0;
}

}  // namespace

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
