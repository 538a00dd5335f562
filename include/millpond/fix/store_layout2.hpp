#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/fix/store_segment.hpp>

namespace millpond::fix {

/// A segment of layout 2, to be read only.
///
///     offset 0     Header, 256 bytes
///     256          slots * 32 bytes; the message with number n has entry n modulo slots
///     then         data_bytes of messages, each in one piece; the place of a position is it modulo data_bytes
///
/// Threads: any. Memory: none.
class Layout2Segment {
public:
    static constexpr std::uint32_t kVersion = 2;

    /// Nothing when `memory` holds no segment of this layout.
    [[nodiscard]] static std::optional<Layout2Segment> open(std::span<const std::byte> memory) noexcept;

    [[nodiscard]] std::uint64_t generation() const noexcept { return header_->generation; }
    [[nodiscard]] std::uint64_t data_bytes() const noexcept { return header_->data_bytes; }
    [[nodiscard]] std::int64_t creation_utc_ns() const noexcept { return header_->creation_utc_ns; }
    [[nodiscard]] std::uint64_t next_sender() const noexcept { return header_->next_sender; }
    [[nodiscard]] std::uint64_t next_target() const noexcept { return header_->next_target; }
    [[nodiscard]] StoreSegment::Extent extent() const noexcept;
    /// As StoreSegment::next_kept.
    [[nodiscard]] std::uint64_t next_kept(std::uint64_t sequence) const noexcept;
    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept;

private:
    struct Header {
        std::uint64_t magic;
        std::uint32_t version;
        std::uint32_t header_bytes;
        std::uint64_t slots;
        std::uint64_t data_bytes;
        std::int64_t creation_utc_ns;
        std::uint64_t claimed_end;
        std::uint64_t written_end;
        std::uint64_t next_sender;
        std::uint64_t next_target;
        std::uint64_t generation;
    };
    struct Entry {
        std::uint64_t sequence;  // 0 while the entry leads to no message
        std::uint64_t position;
        std::uint64_t length;
        std::uint64_t reserved;
    };
    static constexpr std::size_t kHeaderBytes = 256;
    static constexpr std::size_t kBytesOfASlot = 128;

    [[nodiscard]] bool is_whole(std::uint64_t slot) const noexcept;

    const Header* header_{nullptr};
    const Entry* entries_{nullptr};
    const char* data_{nullptr};
};

}  // namespace millpond::fix
