#pragma once

#include <memory>
#include <string>

#include <millpond/core/descriptor.hpp>

namespace millpond::net::test {

/// Two network namespaces, joined by a pair of virtual interfaces: near0 (10.99.0.1, fd99::1) and far0 (10.99.0.2,
/// 10.99.0.3, fd99::2), each with several queues. The calling thread moves between them; a socket stays in the
/// namespace in which it was created.
class NetworkPair {
public:
    static constexpr unsigned kQueues = 4;

    /// Returns null if the machine does not allow namespaces; `why` gets the reason, for GTEST_SKIP.
    static std::unique_ptr<NetworkPair> make(std::string& why);

    NetworkPair() = default;
    NetworkPair(const NetworkPair&) = delete;
    NetworkPair& operator=(const NetworkPair&) = delete;
    /// Returns the thread to its former namespace. The namespaces end with their last socket.
    ~NetworkPair();

    /// Creates both interfaces, again with the same names and addresses, and enters the near namespace. Returns false
    /// if the command ip failed.
    [[nodiscard]] bool delete_link() const;
    [[nodiscard]] bool make_link() const;

    void enter_near() const;
    void enter_far() const;

    /// Makes the far side compute checksums completely: a virtual interface leaves that to hardware that does not
    /// exist, so that AF_XDP on the near side would receive incomplete ones. Returns false if the kernel refused.
    [[nodiscard]] bool finish_checksums() const;

    /// Waits for IPv6, which the kernel starts up to a second after a link is up. Returns false if it did not.
    [[nodiscard]] bool wait_for_ipv6() const;

private:
    core::Descriptor home_;
    core::Descriptor near_;
    core::Descriptor far_;
};

}  // namespace millpond::net::test
