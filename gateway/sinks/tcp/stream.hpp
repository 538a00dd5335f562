#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <sys/uio.h>

#include <millpond/core/descriptor.hpp>
#include <millpond/tls/context.hpp>
#include <millpond/tls/failure.hpp>

struct ssl_st;  // OpenSSL's SSL

namespace millpond::gateway::tcp {

/// Result of sending.
enum class Flow : std::uint8_t {
    idle,     ///< Everything is sent.
    blocked,  ///< The socket is full.
    broken,   ///< The connection has ended: drop the client.
};

/// A client's non-blocking socket, plain or with TLS. With TLS the process must ignore SIGPIPE.
///
/// Threads: one.
/// Memory:  with TLS that of OpenSSL for a connection, and one record of at most 16 KiB.
class Stream {
public:
    /// tls: plain TCP if it is not on().
    Stream(core::Descriptor socket, const tls::Context& tls);

    [[nodiscard]] int socket() const noexcept { return socket_.get(); }
    /// Whether the handshake is complete or not needed.
    [[nodiscard]] bool is_open() const noexcept;
    /// Continues the handshake: idle when it is complete or not needed.
    [[nodiscard]] Flow shake_hands();
    /// Why the handshake failed, or has not completed.
    [[nodiscard]] std::string_view failure() const noexcept { return failure_; }

    /// Returns the number of accepted bytes, or -1 with errno if there are none. Accepted bytes are sent only when
    /// flush() is idle.
    [[nodiscard]] ssize_t send(const iovec* parts, std::size_t count);
    [[nodiscard]] Flow flush();
    /// Receives like recv(2).
    [[nodiscard]] ssize_t receive(char* into, std::size_t max_bytes);
    /// Whether it holds received bytes that the socket no longer reports.
    [[nodiscard]] bool has_unread() const noexcept;

private:
    struct FreeSsl {
        void operator()(ssl_st* ssl) const noexcept;
    };
    [[nodiscard]] Flow flow_of(int result) const noexcept;

    core::Descriptor socket_;
    std::unique_ptr<ssl_st, FreeSsl> ssl_;
    std::string record_;  // bytes accepted for TLS; they must not change once sending has started
    std::size_t record_sent_{0};
    std::string_view failure_{tls::kTimedOut};  // of static storage
};

}  // namespace millpond::gateway::tcp
