#pragma once

#include <string>

#include <millpond/net/udp_receiver.hpp>

namespace millpond::net::test {

/// The reason why the machine has no receiver with these options: its kernel, a container's filter, or the build lacks
/// the path. Empty if it has one; other errors are failures of the test.
inline std::string lacks_path(const ReceiveOptions& options) {
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
