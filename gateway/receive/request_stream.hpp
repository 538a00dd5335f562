#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/net/datagram.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::gateway {

/// Requests messages from a server by TCP: one connection for each request, over a socket that never blocks. The
/// server answers with segments and closes the connection.
///
/// Threads: one; counters on any.
/// Memory:  256 KiB and a list of segments, in the constructor. Nothing is allocated later.
class RequestStream {
public:
    /// Length of the segment that begins with these bytes; nullopt if more are needed to know it. At most 64 KiB.
    using LengthOf = std::optional<std::size_t> (*)(std::span<const std::byte>) noexcept;

    /// receive_buffer: bytes to request from the kernel; 0: its default. Throws net::SocketError if the kernel refuses
    /// an epoll instance.
    RequestStream(const net::SocketAddress& server, LengthOf length_of, std::size_t receive_buffer = 0);

    /// Connects and sends a request of at most kMaxRequestBytes; an earlier connection is closed. What the kernel
    /// refuses is a failure, and so is an answer of more than `max_bytes`.
    void send(std::span<const std::byte> request, std::uint64_t max_bytes) noexcept;
    /// Returns the segments of one receive call, valid until the next call; empty if there was nothing.
    [[nodiscard]] std::span<const net::Datagram> poll() noexcept;
    /// Closes the connection.
    void close() noexcept { socket_ = {}; }
    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(socket_); }

    /// Descriptor for epoll and poll, the same for all connections: readable when `poll` has something to do.
    [[nodiscard]] int fd() const noexcept { return epoll_.get(); }
    [[nodiscard]] const net::SocketAddress& server() const noexcept { return server_; }
    [[nodiscard]] const core::Tally& connections() const noexcept { return connections_; }
    /// Connections that were not made or broke.
    [[nodiscard]] const core::Tally& failures() const noexcept { return failures_; }

    static constexpr std::size_t kMaxRequestBytes = 64;

private:
    static constexpr std::size_t kBufferBytes = std::size_t{256} * 1'024;
    static constexpr std::size_t kMaxSegments = 1'024;

    void fail() noexcept {
        failures_.add();
        close();
    }
    void connect() noexcept;
    void flush() noexcept;
    [[nodiscard]] bool receive() noexcept;

    net::SocketAddress server_;
    LengthOf length_of_;
    std::size_t receive_buffer_;
    core::Descriptor epoll_;
    core::Descriptor socket_;
    bool is_connected_{false};
    bool is_at_end_{false};  // the server has closed its side
    std::vector<std::byte> unsent_;
    std::size_t unsent_begin_{0};
    std::uint64_t bytes_left_{0};  // that the server may still send
    std::vector<std::byte> received_;
    std::size_t begin_{0};  // bytes begin_..end_ were received and not passed on
    std::size_t end_{0};
    std::vector<net::Datagram> segments_;
    core::Tally connections_;
    core::Tally failures_;
};

}  // namespace millpond::gateway
