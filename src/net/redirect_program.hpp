#pragma once

#include <cstdint>
#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::net::detail {

/// What an XDP program of ours redirects: IPv4 datagrams to this address (any, where it is 0.0.0.0) and port, of this
/// sender where there is one, in frames of this VLAN.
struct RedirectRule {
    SocketAddress to{};
    SocketAddress source{};
    std::uint16_t vlan{0};  ///< 0: untagged, or tagged with a priority only.
};

/// An XDP program on an interface that hands the frames of a rule to the AF_XDP sockets in a map, one a receive queue,
/// and everything else to the kernel: also fragments, frames of a queue without a socket and frames of another VLAN,
/// which it counts. It hangs on a bpf_link: it leaves the interface when this object or the process ends.
///
/// Source: Linux Documentation/bpf/standardization/instruction-set.rst, Documentation/networking/af_xdp.rst.
class RedirectProgram {
public:
    /// Loads it; nothing is redirected yet. Throws SocketError.
    RedirectProgram(const RedirectRule& rule, std::uint32_t queues);

    /// The map of sockets by receive queue.
    [[nodiscard]] int sockets() const noexcept { return map_.get(); }

    /// Frames of another VLAN that match otherwise. A system call.
    [[nodiscard]] std::uint64_t other_vlan() const noexcept;

    /// Puts it on the interface: in the driver if that can, else where the kernel's stack begins. Waits up to 1 s for
    /// one that a killed process has left. Throws SocketError.
    void attach(const std::string& interface, unsigned interface_index);

private:
    core::Descriptor map_;
    core::Descriptor counter_;
    core::Descriptor program_;
    core::Descriptor link_;
};

}  // namespace millpond::net::detail
