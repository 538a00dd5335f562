#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/sinks/tcp/options.hpp"
#include "gateway/sinks/tcp/stream.hpp"
#include "gateway/sinks/tcp/watched.hpp"

namespace millpond::gateway::tcp {

/// An unauthenticated client: nothing is kept or sent for it before the TLS handshake and the token in a first line
/// `{"token":"..."}`, where they are required. It has five seconds.
///
/// Threads: one.
class Applicant : public Watched {
public:
    enum class Verdict : std::uint8_t { waits, admitted, refused };

    Applicant(const Options& options, int epoll, Stream stream, std::string peer, std::int64_t now_ns);

    /// Does what can be done without blocking. A refused client has been sent the reason, if possible.
    [[nodiscard]] Verdict look(std::int64_t now_ns);
    /// The reason for the refusal.
    [[nodiscard]] std::string_view reason() const noexcept { return reason_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

    /// Parts of an admitted client for its connection: the stream, and bytes received after the token.
    [[nodiscard]] std::pair<Stream, std::string> leave();

private:
    [[nodiscard]] Verdict refuse(std::string_view reason, bool tell);
    [[nodiscard]] Verdict look_at_token();

    const Options& options_;
    int epoll_;
    Stream stream_;
    std::string peer_;
    std::int64_t since_ns_;
    std::int64_t tried_ns_{0};
    std::string input_;
    std::string_view reason_;
};

}  // namespace millpond::gateway::tcp
