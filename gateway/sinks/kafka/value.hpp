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

/// What a message's value holds.
///
/// JSON: feed's objects, and `{"type":"lost","reason":"lapped","timestamp":..,"sequence":..,"first":..,"last":..}`.
///
/// Binary, little-endian: 16 bytes, then the event or LostRecord as it stands in the journal (feed/event.hpp,
/// journal/layout.hpp).
///
///     0    2    version, 1
///     2    2    kind, as journal::RecordKind: 1 quote, 2 trade, 3 status, 4 gap, 5 clear, 6 trade break,
///               17 lost
///     4    4    0
///     8    8    sequence: number of the ring entry
///
///     a quote's 72 bytes behind them:
///     16   4    instrument, a number of this run (the key is the name)      56   8   exchange time, UTC ns
///     20   2    channel                                                     64   8   receive time, UTC ns
///     22   2    flags: 1 incomplete, 2 halted, 4 not firm                   72   8   receive ticks
///     24   8    bid price in 1/10000                                        80   8   sequence on the wire
///     32   8    ask price in 1/10000
///     40   8    bid size
///     48   8    ask size
namespace millpond::gateway::kafka {

inline constexpr std::uint16_t kValueVersion = 1;
inline constexpr std::size_t kValueHeadBytes = 16;

using ValueBuffer = std::array<char, feed::kMaxJsonBytes>;

template <class Event>
[[nodiscard]] millpond::journal::RecordKind kind_of(const Event&) noexcept {
    return static_cast<millpond::journal::RecordKind>(Event::kKind);
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
