#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>
#include <sys/uio.h>

#include <millpond/core/descriptor.hpp>

#include "service/tls.hpp"

struct ssl_st;  // OpenSSL's SSL

namespace millpond::gateway::tcp {

/// Result of sending.
enum class Flow : std::uint8_t {
    idle,     ///< Everything is sent.
    blocked,  ///< The socket is full.
    broken,   ///< The connection has ended: drop the client.
};

/// A client's socket, plain or with TLS. Nothing blocks. With TLS the process ignores SIGPIPE.
///
/// Threads: one.
/// Memory:  with TLS that of OpenSSL for a connection, and one record of at most 16 KiB.
class Stream {
public:
    /// tls: not on() is plain.
    Stream(core::Descriptor socket, const service::TlsContext& tls);

    [[nodiscard]] int socket() const noexcept { return socket_.get(); }
    /// Continues the handshake: idle when it is complete or not needed.
    [[nodiscard]] Flow shake_hands();

    /// Bytes accepted, -1 with errno if none. Accepted bytes are sent only when flush() is idle.
    [[nodiscard]] ssize_t send(const iovec* parts, std::size_t count);
    [[nodiscard]] Flow flush();
    /// As recv(2).
    [[nodiscard]] ssize_t receive(char* into, std::size_t most);
    /// Whether it holds received bytes that the socket no longer reports.
    [[nodiscard]] bool has_unread() const noexcept;

private:
    struct FreeSsl {
        void operator()(ssl_st* ssl) const noexcept;
    };
    [[nodiscard]] Flow flow_of(int result) const noexcept;

    core::Descriptor socket_;
    std::unique_ptr<ssl_st, FreeSsl> ssl_;
    std::string record_;  // bytes taken for TLS: once sending has started, they must not change
    std::size_t record_sent_{0};
};

}  // namespace millpond::gateway::tcp
