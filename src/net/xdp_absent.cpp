#include <cerrno>

#include "xdp_path.hpp"

// Replaces xdp_path.cpp in builds without libxdp: no object of this class is ever created.
namespace millpond::net::detail {

class XdpPath::Queues {};

XdpPath::XdpPath(const ReceiveOptions& /*options*/, ReceiveReport& /*report*/, ReceiveCounters& /*counters*/) {
    throw SocketError(ENOSYS, "built without libxdp (Debian: libxdp-dev, libbpf-dev)");
}

XdpPath::~XdpPath() = default;

std::span<const Datagram> XdpPath::poll() noexcept { return {}; }
int XdpPath::fd() const noexcept { return -1; }
const memory::Region& XdpPath::memory() const noexcept { __builtin_unreachable(); }
void XdpPath::refresh_kernel_drops() noexcept {}

}  // namespace millpond::net::detail
