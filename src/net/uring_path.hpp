#pragma once

#include <memory>
#include <span>

#include <millpond/memory/region.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "control_data.hpp"

namespace millpond::net::detail {

/// Receives with one multishot request of io_uring into buffers that the kernel picks from a ring of ours.
///
/// Completions run inside poll, on the thread that polls first: nothing interrupts it.
class UringPath {
public:
    /// Throws SocketError if the kernel refuses.
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
