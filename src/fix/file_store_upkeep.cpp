#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <millpond/memory/residency.hpp>

#include "file_store_link.hpp"

// Work of the maintaining thread: next segments, files to remove, memory, and syncs.
namespace millpond::fix {
namespace {

constexpr std::int64_t kRetryNanos = 1'000'000'000;
constexpr std::int64_t kReadAgainNanos = 1'000'000'000;  // how long old segments stay in memory after a read

std::size_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

/// Waits until the pages of these bytes are on the disk.
std::error_code sync_bytes(const void* begin, std::size_t bytes) noexcept {
    const auto before = reinterpret_cast<std::uintptr_t>(begin) % page_bytes();
    // The parameter of msync is not const, but msync does not write.
    auto* const page = const_cast<std::byte*>(static_cast<const std::byte*>(begin) - before);
    if (msync(page, before + bytes, MS_SYNC) != 0) {
        return {errno, std::system_category()};
    }
    return {};
}

}  // namespace

std::size_t FileStore::free_number() const {
    for (std::size_t number = 1; number < kMaxSegments; ++number) {
        const bool is_used = std::ranges::any_of(links_, [&](const auto& link) { return link->number == number; });
        if (!is_used && !std::filesystem::exists(segment_path(path_, number))) return number;
    }
    throw std::system_error(std::make_error_code(std::errc::too_many_files_open), path_.string());
}

/// Creates the next segment, or uses the spare one if it has the size or no other is available.
void FileStore::prepare() {
    auto* link = spare_;
    if (spare_ == nullptr || spare_->bytes() != next_bytes_) {
        try {
            links_.push_back(open_link(free_number(), next_bytes_));
            link = links_.back().get();
        } catch (...) {
            if (spare_ != nullptr && spare_->bytes() >= options_.min_bytes) offer(*std::exchange(spare_, nullptr));
            throw;
        }
    } else {
        if (options_.prefault) memory::make_present(link->region.bytes(), true);
        spare_ = nullptr;
    }
    if (options_.segments == 0) next_bytes_ = std::min(max_bytes_, 2 * link->bytes());
    offer(*link);
}

void FileStore::remove_given_up() noexcept {
    std::erase_if(links_, [&](const auto& link) {
        if (link->role.load(std::memory_order_acquire) != Link::Role::given_up) return false;  // sync "given up": trim
        if (link->number == 0) {
            link->role.store(Link::Role::spare, std::memory_order_relaxed);
            link->is_unmapped = true;
            spare_ = link.get();
            memory::drop_pages(
                link->region.bytes().subspan(page_bytes()));  // not the header, which names the newest file
            return false;
        }
        std::error_code stays;  // then its number remains in use
        std::filesystem::remove(segment_path(path_, link->number), stays);
        return true;
    });
}

/// Unmaps segments beyond resident_bytes: all of them, or only those still in memory. Headers stay mapped: they are
/// written when a segment is dropped.
void FileStore::unmap_old(bool all) noexcept {
    std::size_t newer_bytes = 0;
    std::uint64_t generation = std::numeric_limits<std::uint64_t>::max();
    for (;;) {
        Link* next = nullptr;
        for (const auto& link : links_) {
            const auto role = link->role.load(std::memory_order_relaxed);
            if (role != Link::Role::left && role != Link::Role::current) continue;
            if (link->generation() >= generation) continue;
            if (next == nullptr || link->generation() > next->generation()) next = link.get();
        }
        if (next == nullptr) return;
        generation = next->generation();
        newer_bytes += next->bytes();
        if (next->role.load(std::memory_order_relaxed) == Link::Role::current) next->is_unmapped = false;
        const bool is_left = next->role.load(std::memory_order_relaxed) == Link::Role::left;
        if (!is_left || newer_bytes <= options_.resident_bytes || (next->is_unmapped && !all)) continue;
        next->is_unmapped = true;
        memory::drop_pages(next->region.bytes().subspan(page_bytes()));
    }
}

std::error_code FileStore::maintain(core::Moment now) noexcept {
    utc_ns_.store(now.utc_ns, std::memory_order_relaxed);
    if (options_.durability == Durability::interval && now.monotonic_ns - synced_ns_ >= options_.interval_ns) {
        synced_ns_ = now.monotonic_ns;
        if (const auto error = sync_since_last()) return error;
    }
    if (old_segment_read_.exchange(false, std::memory_order_relaxed)) unmap_ns_ = now.monotonic_ns + kReadAgainNanos;
    const bool all = unmap_ns_ != 0 && now.monotonic_ns >= unmap_ns_;
    const auto changes = changes_.load(std::memory_order_acquire);  // sync "roles changed": recover_chain, turn, trim
    if (changes != seen_ || all) {
        seen_ = changes;
        if (all) unmap_ns_ = 0;
        remove_given_up();
        unmap_old(all);
    }
    if (is_ring() || fresh_.load(std::memory_order_relaxed) != nullptr || now.monotonic_ns < retry_ns_) return {};
    try {
        prepare();
        retry_ns_ = 0;
        return {};
    } catch (const std::system_error& error) {
        retry_ns_ = now.monotonic_ns + kRetryNanos;
        count_failure();
        return error.code();
    } catch (const std::exception&) {  // no memory for its name
        retry_ns_ = now.monotonic_ns + kRetryNanos;
        count_failure();
        return std::make_error_code(std::errc::not_enough_memory);
    }
}

/// Waits until all messages since the last call are on the disk.
std::error_code FileStore::sync_since_last() noexcept {
    auto newest = synced_generation_;
    for (const auto& link : links_) {
        const auto role = link->role.load(std::memory_order_relaxed);
        const auto generation = link->generation();
        if (generation < synced_generation_ || (role != Link::Role::current && role != Link::Role::left)) continue;
        if (const auto error = sync_bytes(link->region.data(), link->region.size())) return error;
        newest = std::max(newest, generation);
    }
    synced_generation_ = newest;
    return {};
}

std::error_code FileStore::sync() noexcept {
    for (const auto* link : chain_) {
        if (const auto error = sync_bytes(link->region.data(), link->region.size())) return error;
    }
    return {};
}

std::error_code FileStore::sync_newest() noexcept {
    const auto& segment = current();
    if (const auto* record = segment.find(next_sender() - 1)) {
        // Including the end mark after it. The index is rebuilt from the records.
        const auto bytes = StoreSegment::record_bytes(*record);
        const auto left =
            static_cast<std::size_t>(segment.data.data() + segment.data.size() - reinterpret_cast<const char*>(record));
        if (const auto error = sync_bytes(record, std::min(bytes + sizeof *record, left))) return error;
    }
    return sync_bytes(segment.header, kStoreHeaderBytes);
}

}  // namespace millpond::fix
