#include <cerrno>

#include "uring_path.hpp"

// Replaces uring_path.cpp in builds without liburing: no object of this class is ever created.
namespace millpond::net::detail {

class UringPath::Ring {};

UringPath::UringPath(int /*socket*/, const UdpReceiver::Options& /*options*/, const UdpReceiver::Report& /*report*/,
                     ReceiveCounters& /*counters*/) {
    throw SocketError(ENOSYS, "built without liburing (Debian: liburing-dev)");
}

UringPath::~UringPath() = default;

std::span<const Datagram> UringPath::poll() noexcept { return {}; }
int UringPath::fd() const noexcept { return -1; }
const memory::Region& UringPath::memory() const noexcept { __builtin_unreachable(); }
KernelDrops& UringPath::drops() noexcept { __builtin_unreachable(); }

}  // namespace millpond::net::detail
