#pragma once

#include <cstdint>
#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::net::detail {

/// The datagrams that the XDP program redirects: IPv4, to this address (any if 0.0.0.0) and port, from this sender if
/// it is set, in frames of this VLAN.
struct RedirectRule {
    SocketAddress to{};
    SocketAddress source{};
    std::uint16_t vlan{0};  ///< 0: untagged, or tagged with a priority only.
};

/// An XDP program on an interface that passes the frames of a rule to the AF_XDP sockets in a map, one for each receive
/// queue, and everything else to the kernel: also fragments, frames of a queue without a socket, and frames of another
/// VLAN, which it counts. It is attached by a bpf_link, so it is detached when this object or the process ends.
///
/// Source: Linux Documentation/bpf/standardization/instruction-set.rst, Documentation/networking/af_xdp.rst.
class RedirectProgram {
public:
    /// Loads the program; nothing is redirected yet. Throws SocketError.
    RedirectProgram(const RedirectRule& rule, std::uint32_t queues);

    /// The map of sockets by receive queue.
    [[nodiscard]] int sockets() const noexcept { return map_.get(); }

    /// Frames of another VLAN that match otherwise. A system call.
    [[nodiscard]] std::uint64_t other_vlan() const noexcept;

    /// Attaches the program to the interface: in the driver if that supports it, else at the start of the kernel's
    /// stack. Waits up to 1 s for the program of a killed process to be removed. Throws SocketError.
    void attach(const std::string& interface, unsigned interface_index);

private:
    core::Descriptor map_;
    core::Descriptor counter_;
    core::Descriptor program_;
    core::Descriptor link_;
};

}  // namespace millpond::net::detail
