#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/feed/moldudp64_request.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::traffic {

/// The messages of a MoldUDP64 session, numbered from 1.
class SessionMessages {
public:
    void add(std::span<const std::byte> message);
    [[nodiscard]] std::uint64_t size() const noexcept { return ends_.size(); }
    /// Returns a message. number: 1 to size().
    [[nodiscard]] std::span<const std::byte> message(std::uint64_t number) const noexcept;

private:
    std::vector<std::byte> bytes_;
    std::vector<std::size_t> ends_;
};

/// A MoldUDP64 re-request server: answers requests for the messages of one session with ordinary datagrams to the
/// asking client, many for a request that does not fit into one.
///
/// Threads: one; counts on any.
class RequestServer {
public:
    /// Maximum number of datagrams in reply to one request.
    static constexpr std::uint64_t kMaxDatagrams = 64;

    /// messages: must outlive this. Throws std::system_error that names the address.
    RequestServer(const net::SocketAddress& listen, const std::string& session, const SessionMessages& messages);

    /// Answers pending requests, and waits for the first for at most `timeout_ms`. Returns their number.
    std::size_t poll(int timeout_ms);

    [[nodiscard]] const net::SocketAddress& address() const noexcept { return address_; }
    [[nodiscard]] std::uint64_t requests() const noexcept { return requests_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t answered() const noexcept { return answered_.load(std::memory_order_relaxed); }

private:
    void answer(const feed::MoldUdp64Request& request, const net::SocketAddress& to);

    core::Descriptor socket_;
    net::SocketAddress address_;
    std::string session_name_;
    feed::moldudp64_layout::Session session_{};
    const SessionMessages& messages_;
    std::atomic<std::uint64_t> requests_{0};
    std::atomic<std::uint64_t> answered_{0};  // messages
};

}  // namespace millpond::traffic
