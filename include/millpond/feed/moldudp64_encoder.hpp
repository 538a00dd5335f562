#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/moldudp64_layout.hpp>

namespace millpond::feed {

/// Writes MoldUDP64 datagrams (moldudp64_layout.hpp) of one session into buffers of the caller of at least 20 bytes.
///
/// Call begin(buffer), add(...) until it refuses or nothing is left, finish(), then send the result. Without messages
/// the datagram is a heartbeat.
///
/// Threads: one.
class MoldUdp64Encoder {
public:
    /// session: only its first ten characters are used, padded with spaces on the right.
    explicit MoldUdp64Encoder(std::string_view session, std::uint64_t first_sequence = 1) noexcept
        : sequence_(first_sequence) {
        session_.fill(' ');
        session.copy(session_.data(), session_.size());
    }

    void begin(std::span<std::byte> buffer) noexcept {
        buffer_ = buffer;
        used_ = moldudp64_layout::kHeaderBytes;
        count_ = 0;
    }

    /// Returns false if the message no longer fits; the datagram is then unchanged.
    [[nodiscard]] bool add(std::span<const std::byte> message) noexcept;

    [[nodiscard]] std::span<const std::byte> finish() noexcept { return finish(count_); }

    /// Announces the end of the session. Call it instead of finish, without messages.
    [[nodiscard]] std::span<const std::byte> finish_session() noexcept {
        used_ = moldudp64_layout::kHeaderBytes;
        count_ = 0;
        return finish(moldudp64_layout::kEndOfSession);
    }

    [[nodiscard]] std::uint64_t next_sequence() const noexcept { return sequence_ + count_; }

private:
    [[nodiscard]] std::span<const std::byte> finish(std::uint16_t count_field) noexcept;

    moldudp64_layout::Session session_{};
    std::uint64_t sequence_;
    std::span<std::byte> buffer_{};
    std::size_t used_{0};
    std::uint16_t count_{0};
};

inline bool MoldUdp64Encoder::add(std::span<const std::byte> message) noexcept {
    const auto bytes = moldudp64_layout::kLengthBytes + message.size();
    if (buffer_.size() - used_ < bytes || count_ == moldudp64_layout::kEndOfSession - 1) return false;
    core::store_be(buffer_.data() + used_, static_cast<std::uint16_t>(message.size()));
    std::ranges::copy(message, buffer_.data() + used_ + moldudp64_layout::kLengthBytes);
    used_ += bytes;
    ++count_;
    return true;
}

inline std::span<const std::byte> MoldUdp64Encoder::finish(std::uint16_t count_field) noexcept {
    namespace at = moldudp64_layout;
    std::memcpy(buffer_.data() + at::kSessionAt, session_.data(), session_.size());
    core::store_be(buffer_.data() + at::kSequenceAt, sequence_);
    core::store_be(buffer_.data() + at::kCountAt, count_field);
    sequence_ += count_;
    count_ = 0;
    return buffer_.first(used_);
}

}  // namespace millpond::feed
