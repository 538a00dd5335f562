#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include <millpond/core/tally.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/record_ring.hpp>

namespace millpond::gateway {

/// Passes complete datagrams from a receive thread to the thread that writes the capture. The receive thread never
/// waits: datagrams that do not fit, or are longer than a quarter of the ring, are lost and counted.
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
        : memory_(memory::Region::anonymous(size_of(bytes), {.prefault = true})),
          ring_(memory_.bytes().first(size_of(bytes))) {}

    bool put(std::uint32_t feed, std::int64_t utc_ns, std::span<const std::byte> bytes) noexcept {
        auto* const place = ring_.claim(sizeof(Header) + bytes.size());
        if (place == nullptr) {
            lost_.add();
            return false;
        }
        const Header header{.utc_ns = utc_ns, .feed = feed};
        std::memcpy(place, &header, sizeof header);
        if (!bytes.empty()) std::memcpy(place + sizeof header, bytes.data(), bytes.size());
        ring_.publish();
        return true;
    }

    /// The oldest entry; nullopt if the ring is empty.
    [[nodiscard]] std::optional<Entry> front() noexcept {
        const auto record = ring_.front();
        if (record.data() == nullptr) return std::nullopt;
        Header header;
        std::memcpy(&header, record.data(), sizeof header);
        return Entry{header.utc_ns, header.feed, record.subspan(sizeof header)};
    }
    /// Releases the entry that front() returned.
    void pop() noexcept { ring_.release(); }

    [[nodiscard]] const core::Tally& lost() const noexcept { return lost_; }

private:
    struct Header {
        std::int64_t utc_ns;
        std::uint32_t feed;
    };
    [[nodiscard]] static constexpr std::size_t size_of(std::size_t bytes) noexcept {
        return queue::RecordRing::kHeadBytes + std::bit_ceil(bytes);
    }

    memory::Region memory_;
    queue::RecordRing ring_;
    core::Tally lost_;
};

}  // namespace millpond::gateway
