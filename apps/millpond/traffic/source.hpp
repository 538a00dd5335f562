#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace millpond::traffic {

/// A datagram with its time.
struct Outgoing {
    std::int64_t due_ns{0};              ///< Time since the source's first datagram; never less than the previous one.
    std::span<const std::byte> bytes{};  ///< Valid until the next call of next.
    std::uint32_t messages{1};           ///< Number of its messages, if the format is known; 0 for a heartbeat.
};

/// A source of datagrams, in the order in which they are sent.
class Source {
public:
    Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    virtual ~Source() = default;

    /// Returns the next datagram. False at the end, or if the source is damaged; error() has the reason then.
    [[nodiscard]] virtual bool next(Outgoing& out) = 0;

    /// Reason why the source ended early; empty if it did not.
    [[nodiscard]] virtual std::string error() const { return {}; }

    /// Progress through the source, 0 to 1; negative if unknown.
    [[nodiscard]] virtual double fraction() const { return -1.0; }
};

}  // namespace millpond::traffic
