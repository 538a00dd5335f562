#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace millpond::traffic {

/// A datagram with its time.
struct Outgoing {
    std::int64_t due_ns{0};              ///< After the source's first datagram; never smaller than the one before.
    std::span<const std::byte> bytes{};  ///< Valid until the next call of next.
    std::uint32_t messages{1};           ///< Messages inside, if the format is known; 0 for example for a heartbeat.
};

/// Datagrams in the order in which they are to be sent.
class Source {
public:
    Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    virtual ~Source() = default;

    /// False at the end, or if the source is damaged; error() then has the reason.
    [[nodiscard]] virtual bool next(Outgoing& out) = 0;

    /// Empty, or why the source ended too early.
    [[nodiscard]] virtual std::string error() const { return {}; }

    /// Progress through the source, 0 to 1; negative if unknown.
    [[nodiscard]] virtual double fraction() const { return -1.0; }
};

}  // namespace millpond::traffic
