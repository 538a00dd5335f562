#pragma once

#include <cstdint>

namespace millpond::feed {

/// Which sequence numbers of which session a datagram carries, by its headers.
template <class Session>
struct SequencedDatagram {
    Session session{};
    std::uint64_t first{0};  ///< Of the next message to come where count is 0.
    std::uint64_t count{0};
    bool ends{false};  ///< It says that the session is over.

    [[nodiscard]] std::uint64_t end() const noexcept { return first + count; }
};

}  // namespace millpond::feed
