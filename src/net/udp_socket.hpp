#pragma once

#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::net::detail {

/// Opens a socket with these options, bound and joined, and reports what the kernel granted. Throws SocketError.
core::Descriptor open_udp_socket(const ReceiveOptions& options, ReceiveReport& report, Joined& joined);
/// Implements UdpReceiver::rejoin.
[[nodiscard]] bool join_again(int fd, Joined& joined) noexcept;

/// Connects the socket. Returns 0 or an errno.
[[nodiscard]] int connect_udp_socket(int fd, const SocketAddress& peer) noexcept;

/// Tries to set an option; `enable` returns the reason if it failed, or an empty string. Returns true if the option is
/// set; otherwise the reason is added to the report, or thrown as a SocketError if the option is required.
template <class Enable>
bool fulfil(Want wanted, const std::string& what, ReceiveReport& report, Enable&& enable) {
    if (wanted == Want::no) return false;
    const std::string failure = enable();
    if (failure.empty()) return true;
    const auto sentence = what + ": " + failure;
    if (wanted == Want::require) throw SocketError(EOPNOTSUPP, "required: " + sentence);
    report.fallbacks.push_back(sentence);
    return false;
}

}  // namespace millpond::net::detail
