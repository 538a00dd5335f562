#pragma once

#include <string>

#include <millpond/net/udp_receiver.hpp>

namespace millpond::net::test {

/// Why this machine has no receiver as the options require it: its kernel, a container's filter, or the build lacks the
/// path. Empty where it has; other errors are the test's to find.
inline std::string lacks_path(const UdpReceiver::Options& options) {
    try {
        const UdpReceiver probe{options};
    } catch (const SocketError& error) {
        const std::string what = error.what();
        for (const auto* const cause : {"Operation not permitted", "Function not implemented", "built without"})
            if (what.find(cause) != std::string::npos) return what;
    }
    return {};
}

}  // namespace millpond::net::test
