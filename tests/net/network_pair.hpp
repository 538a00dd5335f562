#pragma once

#include <memory>
#include <string>

#include <millpond/core/descriptor.hpp>

namespace millpond::net::test {

/// Two network namespaces of our own, joined by a pair of virtual interfaces: near0 (10.99.0.1, fd99::1) and far0
/// (10.99.0.2, 10.99.0.3, fd99::2), each with several queues. The calling thread moves between them; a socket stays
/// where it was made.
class NetworkPair {
public:
    static constexpr unsigned kQueues = 4;

    /// Null where this machine does not allow it; `why` then says so, for GTEST_SKIP.
    static std::unique_ptr<NetworkPair> make(std::string& why);

    NetworkPair() = default;
    NetworkPair(const NetworkPair&) = delete;
    NetworkPair& operator=(const NetworkPair&) = delete;
    /// Takes the thread back to where it came from. The namespaces go with their last socket.
    ~NetworkPair();

    void enter_near() const;
    void enter_far() const;

    /// Has the far side compute checksums in full: a virtual interface leaves that to hardware that is not there, so
    /// that AF_XDP on the near side sees them unfinished. False when the kernel refused.
    [[nodiscard]] bool finish_checksums() const;

    /// The kernel starts IPv6 up to a second after a link is up. False when it did not.
    [[nodiscard]] bool wait_for_ipv6() const;

private:
    core::Descriptor home_;
    core::Descriptor near_;
    core::Descriptor far_;
};

}  // namespace millpond::net::test
