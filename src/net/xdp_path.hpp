#pragma once

#include <memory>
#include <span>

#include <millpond/memory/region.hpp>
#include <millpond/net/datagram.hpp>
#include <millpond/net/receive_options.hpp>

namespace millpond::net::detail {

/// Receives frames by AF_XDP: one socket for each receive queue of the interface, and a program that redirects to them.
class XdpPath {
public:
    /// Throws SocketError if the kernel or the driver refuses, or a capability is missing.
    XdpPath(const ReceiveOptions& options, ReceiveReport& report, ReceiveCounters& counters);
    XdpPath(const XdpPath&) = delete;
    XdpPath& operator=(const XdpPath&) = delete;
    ~XdpPath();

    [[nodiscard]] std::span<const Datagram> poll() noexcept;
    [[nodiscard]] int fd() const noexcept;
    [[nodiscard]] const memory::Region& memory() const noexcept;
    void refresh_kernel_drops() noexcept;

private:
    class Queues;
    std::unique_ptr<Queues> queues_;
};

}  // namespace millpond::net::detail
