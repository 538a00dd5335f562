#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::gateway {

/// Passes complete datagrams from a receive thread to the one that writes the capture. The receive thread copies and
/// continues: datagrams that do not fit are lost and counted.
///
/// Threads: put on one, front and pop on one other; lost on any.
/// Memory:  `bytes`, a power of two, in a prefaulted Region; no system call after construction.
class CaptureRing {
public:
    struct Entry {
        std::int64_t utc_ns{0};
        std::uint32_t feed{0};
        std::span<const std::byte> bytes;  ///< Valid until pop.
    };

    explicit CaptureRing(std::size_t bytes)
        : memory_(memory::Region::anonymous(std::bit_ceil(bytes), {.prefault = true})),
          mask_(std::bit_ceil(bytes) - 1) {}

    bool put(std::uint32_t feed, std::int64_t utc_ns, std::span<const std::byte> bytes) noexcept {
        const auto tail = tail_.load(std::memory_order_relaxed);
        const auto need = stride(bytes.size());
        const auto to_end = mask_ + 1 - (tail & mask_);
        const auto skipped = need <= to_end ? 0 : to_end;  // an entry lies in one piece
        if (tail + skipped + need - head_seen_ > mask_ + 1) {
            head_seen_ = head_.load(std::memory_order_acquire);  // sync "entry popped": the store in pop
            if (tail + skipped + need - head_seen_ > mask_ + 1) {
                lost_.add();
                return false;
            }
        }
        if (skipped != 0) store(tail, {.length = kSkip, .feed = 0, .utc_ns = 0});
        const auto begin = tail + skipped;
        store(begin, {.length = static_cast<std::uint32_t>(bytes.size()), .feed = feed, .utc_ns = utc_ns});
        if (!bytes.empty()) std::memcpy(at(begin) + sizeof(Header), bytes.data(), bytes.size());
        tail_.store(begin + need, std::memory_order_release);  // sync "entry put": the load in front
        return true;
    }

    /// The oldest entry, or empty.
    [[nodiscard]] std::optional<Entry> front() noexcept {
        auto head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) return std::nullopt;  // sync "entry put": the store in put
        auto header = load(head);
        if (header.length == kSkip) {
            head += mask_ + 1 - (head & mask_);
            header = load(head);
        }
        next_ = head + stride(header.length);
        return Entry{header.utc_ns, header.feed, {at(head) + sizeof(Header), header.length}};
    }
    /// Gives the place of the entry that front() gave last free.
    void pop() noexcept { head_.store(next_, std::memory_order_release); }  // sync "entry popped": the load in put

    [[nodiscard]] const core::Tally& lost() const noexcept { return lost_; }

private:
    struct Header {
        std::uint32_t length;
        std::uint32_t feed;
        std::int64_t utc_ns;
    };
    static constexpr std::uint32_t kSkip = ~std::uint32_t{0};

    static constexpr std::size_t stride(std::size_t length) noexcept {
        return (sizeof(Header) + length + sizeof(Header) - 1) / sizeof(Header) * sizeof(Header);
    }
    [[nodiscard]] std::byte* at(std::uint64_t position) noexcept { return memory_.data() + (position & mask_); }
    void store(std::uint64_t position, const Header& header) noexcept {
        std::memcpy(at(position), &header, sizeof header);
    }
    [[nodiscard]] Header load(std::uint64_t position) noexcept {
        Header header;
        std::memcpy(&header, at(position), sizeof header);
        return header;
    }

    memory::Region memory_;
    std::uint64_t mask_;
    // Positions count on for ever. One cache line per writing thread: the receive thread's, then the writer's.
    alignas(core::kCacheLine) std::atomic<std::uint64_t> tail_{0};
    std::uint64_t head_seen_{0};
    core::Tally lost_;
    alignas(core::kCacheLine) std::atomic<std::uint64_t> head_{0};
    std::uint64_t next_{0};
};

}  // namespace millpond::gateway
