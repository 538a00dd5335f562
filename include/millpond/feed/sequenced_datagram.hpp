#pragma once

#include <cstdint>

namespace millpond::feed {

/// Session and sequence numbers of a datagram, read from its headers.
template <class Session>
struct SequencedDatagram {
    Session session{};
    std::uint64_t first{0};  ///< Number of the first message; of the next one if count is 0.
    std::uint64_t count{0};
    bool ends{false};  ///< The datagram ends the session.

    [[nodiscard]] std::uint64_t end() const noexcept { return first + count; }
};

}  // namespace millpond::feed
