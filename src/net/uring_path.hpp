#pragma once

#include <memory>
#include <span>

#include <millpond/memory/region.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "control_data.hpp"

namespace millpond::net::detail {

/// Receives by one multishot request of io_uring into buffers that the kernel picks from a ring of ours.
///
/// Completions run on the polling thread, which is the one that polls first, inside its poll: nothing interrupts it.
class UringPath {
public:
    /// Throws SocketError where the kernel refuses.
    UringPath(int socket, const UdpReceiver::Options& options, const UdpReceiver::Report& report,
              ReceiveCounters& counters);
    UringPath(const UringPath&) = delete;
    UringPath& operator=(const UringPath&) = delete;
    ~UringPath();

    [[nodiscard]] std::span<const Datagram> poll() noexcept;
    [[nodiscard]] int fd() const noexcept;
    [[nodiscard]] const memory::Region& memory() const noexcept;
    [[nodiscard]] KernelDrops& drops() noexcept;

private:
    class Ring;
    std::unique_ptr<Ring> ring_;
};

}  // namespace millpond::net::detail
