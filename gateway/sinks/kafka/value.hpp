#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <millpond/feed/event.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/journal/layout.hpp>

/// Formats of a message's value.
///
/// JSON: feed's objects, and `{"type":"lost","reason":"lapped","timestamp":..,"sequence":..,"first":..,"last":..}`.
///
/// Binary, little-endian: 16 bytes, then the event or LostRecord as in the journal (feed/event.hpp,
/// journal/layout.hpp).
///
///     0    2    version, 2
///     2    2    kind, as journal::RecordKind: 1 quote, 2 trade, 3 status, 4 gap, 5 clear, 6 trade break,
///               7 order, 8 level, 17 lost
///     4    4    0
///     8    8    sequence: number of the ring entry
///
/// The instrument in an event is its number in this run; the message's key is its name.
namespace millpond::gateway::kafka {

inline constexpr std::uint16_t kValueVersion = 2;
inline constexpr std::size_t kValueHeadBytes = 16;

using ValueBuffer = std::array<char, feed::kMaxJsonBytes>;

template <class Event>
[[nodiscard]] millpond::journal::RecordKind kind_of(const Event&) noexcept {
    return millpond::journal::kRecordKind<Event>;
}
[[nodiscard]] inline millpond::journal::RecordKind kind_of(const millpond::journal::LostRecord&) noexcept {
    return millpond::journal::RecordKind::lost;
}

template <class Event>
[[nodiscard]] std::string_view binary_value(ValueBuffer& out, const Event& event, std::uint64_t sequence) noexcept {
    static_assert(kValueHeadBytes + sizeof(Event) <= std::tuple_size_v<ValueBuffer>);
    const auto kind = static_cast<std::uint16_t>(kind_of(event));
    std::memset(out.data(), 0, kValueHeadBytes);
    std::memcpy(out.data(), &kValueVersion, sizeof(kValueVersion));
    std::memcpy(out.data() + 2, &kind, sizeof(kind));
    std::memcpy(out.data() + 8, &sequence, sizeof(sequence));
    std::memcpy(out.data() + kValueHeadBytes, &event, sizeof(event));
    return {out.data(), kValueHeadBytes + sizeof(event)};
}

}  // namespace millpond::gateway::kafka
