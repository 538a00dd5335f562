#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace millpond::memory {

/// Most urgent first, so that the number is the lane.
enum class Priority : std::uint8_t { critical = 0, high = 1, medium = 2, low = 3 };

enum class MessageType : std::uint8_t {
    order = 1,
    cancel,
    replace,
    fill,
    reject,
    heartbeat,
    logon,
    logout,
    market_data,
    other,
};

enum class MessageState : std::uint8_t { pending = 0, sending, sent, failed, expired };

/// What a message says of itself. Times are nanoseconds of one clock, which the sender chooses; 0 is "not yet".
///
///   0        8         16       20           24       25   26    27       28             32 .. 64
///   id       sequence  session  destination  priority type state reserved payload_bytes  created enqueued sent
///   deadline
struct MessageHeader {
    std::uint64_t id{0};
    std::uint64_t sequence{0};
    std::uint32_t session{0};      ///< Interned: the user's table knows the name.
    std::uint32_t destination{0};  ///< Interned, too.
    Priority priority{Priority::medium};
    MessageType type{MessageType::other};
    MessageState state{MessageState::pending};
    std::uint8_t reserved{0};
    std::uint32_t payload_bytes{0};
    std::int64_t created_ns{0};
    std::int64_t enqueued_ns{0};
    std::int64_t sent_ns{0};
    std::int64_t deadline_ns{0};  ///< 0: it never expires.

    [[nodiscard]] bool is_due(std::int64_t now_ns) const noexcept { return deadline_ns != 0 && now_ns >= deadline_ns; }

    /// Marks a message that has waited too long. False when it may still be sent, or was.
    bool expire(std::int64_t now_ns) noexcept {
        if (state != MessageState::pending || !is_due(now_ns)) return false;
        state = MessageState::expired;
        return true;
    }
};
static_assert(sizeof(MessageHeader) == 64);
static_assert(std::is_trivially_copyable_v<MessageHeader>);

/// An envelope with up to MaxPayload bytes in place: no heap, one block of a pool.
///
/// Threads: its owner's.
/// Memory:  64 bytes and the payload. The payload's bytes are left uninitialised.
template <std::size_t MaxPayload>
class alignas(64) Message : public MessageHeader {
public:
    Message() noexcept {}  // NOLINT(modernize-use-equals-default): "= default" would clear the payload in Message()

    [[nodiscard]] static constexpr std::size_t max_payload() noexcept { return MaxPayload; }

    /// Copies the payload in. False when it is too long; the message is then as it was.
    [[nodiscard]] bool set_payload(std::span<const std::byte> bytes) noexcept {
        if (bytes.size() > MaxPayload) return false;
        std::copy(bytes.begin(), bytes.end(), room_.begin());
        payload_bytes = static_cast<std::uint32_t>(bytes.size());
        return true;
    }
    [[nodiscard]] std::span<const std::byte> payload() const noexcept { return std::span(room_).first(payload_bytes); }

    /// The whole room, to write the payload in place; commit_payload then says how much of it counts.
    [[nodiscard]] std::span<std::byte, MaxPayload> room() noexcept { return room_; }
    [[nodiscard]] bool commit_payload(std::size_t bytes) noexcept {
        if (bytes > MaxPayload) return false;
        payload_bytes = static_cast<std::uint32_t>(bytes);
        return true;
    }

private:
    std::array<std::byte, MaxPayload> room_;
};

}  // namespace millpond::memory
