#pragma once

#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::net::detail {

/// Opens a socket with these options, bound and joined, and reports what the kernel granted. Throws SocketError.
core::Descriptor open_udp_socket(const UdpReceiver::Options& options, UdpReceiver::Report& report);

/// An error number, 0 for none.
[[nodiscard]] int connect_udp_socket(int fd, const SocketAddress& peer) noexcept;

/// Tries to set an option; `enable` returns why it failed, empty when it did not. True when it is set; else the
/// sentence goes to the report, or out as a SocketError where the option is required.
template <class Enable>
bool fulfil(Want wanted, const std::string& what, UdpReceiver::Report& report, Enable&& enable) {
    if (wanted == Want::no) return false;
    const std::string failure = enable();
    if (failure.empty()) return true;
    const auto sentence = what + ": " + failure;
    if (wanted == Want::require) throw SocketError(EOPNOTSUPP, "required: " + sentence);
    report.fallbacks.push_back(sentence);
    return false;
}

}  // namespace millpond::net::detail
