#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/soupbin_packet.hpp>
#include <millpond/net/soupbin_session.hpp>

namespace millpond::net {

/// Options of a client's connections to a SoupBinTCP server.
struct SoupBinOptions {
    SocketAddress server{};
    soupbin::User user{};
    soupbin::Password password{};
    /// Time without a byte of the server, which must send one each second, after which the connection is dead; also the
    /// time for the connect and for the answer to the login.
    std::chrono::nanoseconds silence{std::chrono::seconds{5}};
    std::size_t receive_buffer{0};  ///< Bytes to request from the kernel; 0: its default.
};

/// One connection at a time of a client to a SoupBinTCP server, over a socket that never blocks.
///
/// Threads: one; counters on any.
/// Memory:  256 KiB for received and 128 KiB for sent bytes, in the constructor. Nothing is allocated later.
/// Source:  SoupBinSession; tcp(7).
class SoupBinConnection {
public:
    /// Throws SocketError if the kernel refuses an epoll instance.
    explicit SoupBinConnection(const SoupBinOptions& options);

    /// Starts to connect and log in; an earlier connection is closed without a logout. sequence: number of the first
    /// message to send; 0: begin with the newest one. If the kernel refuses, failure() is set.
    void open(const soupbin::Session& session, std::uint64_t sequence) noexcept;

    /// Continues to connect, or makes one receive call and passes on the packets in it. Returns the number of bytes
    /// that were read; 0: wait on fd() before the next call. Handler: SoupBinSession.
    template <class Handler>
    std::size_t poll(Handler& handler) {
        if (!socket_) return 0;
        const auto got = receive();
        if (got != 0) {
            begin_ += session_.receive(std::span{received_}.subspan(begin_, end_ - begin_), handler);
            if (begin_ == end_) begin_ = end_ = 0;
        }
        if (is_over()) drop();
        return got;
    }

    /// Sends a heartbeat and checks the server's silence; call it a few times a second, after `poll`.
    /// now_ns: of any monotonic clock.
    void on_timer(std::int64_t now_ns) noexcept;

    /// Sends an unsequenced message. False if it is longer than soupbin::kMaxPayloadBytes, if the client is not logged
    /// in, or if the kernel and the buffer have no room for it.
    [[nodiscard]] bool send(std::span<const std::byte> message) noexcept;

    /// Logs out, if logged in, and closes the connection.
    void close() noexcept;

    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(socket_); }
    [[nodiscard]] bool is_logged_in() const noexcept { return session_.state() == SoupBinSession::State::logged_in; }
    /// Number of the next sequenced message; valid while logged in.
    [[nodiscard]] std::uint64_t next() const noexcept { return session_.next(); }
    /// True from the end of the session until the next open.
    [[nodiscard]] bool has_ended() const noexcept { return session_.state() == SoupBinSession::State::ended; }
    /// Why the last connection ended; none while it is open, after its session has ended, and after close.
    [[nodiscard]] SoupBinFailure failure() const noexcept { return session_.failure(); }
    [[nodiscard]] int failure_detail() const noexcept { return session_.failure_detail(); }
    /// Ends the connection from within a handler.
    void fail(SoupBinFailure failure) noexcept { session_.fail(failure); }

    [[nodiscard]] SoupBinCounters& counters() noexcept { return session_.counters(); }
    [[nodiscard]] const SoupBinCounters& counters() const noexcept { return session_.counters(); }
    [[nodiscard]] const SocketAddress& server() const noexcept { return options_.server; }
    /// Descriptor for epoll and poll, the same for all connections: readable when `poll` has something to do.
    [[nodiscard]] int fd() const noexcept { return epoll_.get(); }

private:
    static constexpr std::size_t kReceiveBytes = std::size_t{256} * 1'024;
    static constexpr std::size_t kSendBytes = std::size_t{128} * 1'024;

    [[nodiscard]] bool connect() noexcept;
    [[nodiscard]] std::size_t receive() noexcept;
    [[nodiscard]] bool put(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept;
    void flush() noexcept;
    void watch(bool writable) noexcept;
    [[nodiscard]] bool is_over() const noexcept { return failure() != SoupBinFailure::none || has_ended(); }
    void drop() noexcept;

    SoupBinOptions options_;
    core::Descriptor epoll_;
    core::Descriptor socket_;
    SoupBinSession session_;
    soupbin::LoginRequest login_{};
    bool is_connected_{false};
    bool watches_writable_{false};
    std::vector<std::byte> received_;
    std::size_t begin_{0};  // bytes begin_..end_ were received and not read yet
    std::size_t end_{0};
    std::vector<std::byte> unsent_;
    std::size_t unsent_bytes_{0};
};

}  // namespace millpond::net
