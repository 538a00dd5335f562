#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/sinks/tcp/stream.hpp"
#include "gateway/sinks/tcp/watched.hpp"
#include "service/token.hpp"

namespace millpond::gateway::tcp {

/// An unauthenticated client. It must complete the TLS handshake and send the token in a first line `{"token":"..."}`,
/// as far as required, within five seconds. No events are kept for it or sent to it.
///
/// Threads: one.
class PendingConnection : public Watched {
public:
    enum class Verdict : std::uint8_t { waits, admitted, refused };

    PendingConnection(const service::Token& token, int epoll, Stream stream, std::string peer, std::int64_t now_ns);

    /// Continues authentication without blocking. A refused client is sent the reason if possible.
    [[nodiscard]] Verdict poll(std::int64_t now_ns);
    /// The reason for the refusal.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

    /// Releases an admitted client: its stream, and bytes received after the token.
    [[nodiscard]] std::pair<Stream, std::string> release();

private:
    [[nodiscard]] Verdict refuse(std::string_view reason, bool send_reason);
    [[nodiscard]] Verdict refuse_handshake();
    [[nodiscard]] Verdict check_token();

    const service::Token& token_;
    int epoll_;
    Stream stream_;
    std::string peer_;
    std::int64_t since_ns_;
    std::int64_t tried_ns_{0};
    std::string input_;
    std::string reason_;
};

}  // namespace millpond::gateway::tcp
