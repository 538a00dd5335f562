#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace millpond::traffic {

/// A datagram with its place in time.
struct Outgoing {
    std::int64_t due_ns{0};              ///< After the source's first datagram; never smaller than the one before.
    std::span<const std::byte> bytes{};  ///< Valid until the next call of next.
    std::uint32_t messages{1};           ///< Messages inside, where the format is known; 0: a heartbeat or the like.
};

/// Datagrams in the order in which they are to be sent.
class Source {
public:
    Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    virtual ~Source() = default;

    /// False at the end, and at damage, which error() then describes.
    [[nodiscard]] virtual bool next(Outgoing& out) = 0;

    /// Empty, or why the source ended too early.
    [[nodiscard]] virtual std::string error() const { return {}; }

    /// How much of the source has been handed out, 0 to 1; negative if unknown.
    [[nodiscard]] virtual double fraction() const { return -1.0; }
};

}  // namespace millpond::traffic
