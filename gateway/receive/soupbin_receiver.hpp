#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/net/datagram.hpp>
#include <millpond/net/soupbin_client.hpp>

#include "gateway/receive/line.hpp"

namespace millpond::gateway {

/// Receives a session from a SoupBinTCP server as MoldUDP64 datagrams, so that the decoder, the capture and rebuilds
/// need no other form: a login and a heartbeat of the server are heartbeats, the end of the session is announced.
///
/// Threads: poll and beat on the receive thread; counters and status on any.
/// Memory:  SoupBinClient, 384 KiB and a list of datagrams, in the constructor. Nothing is allocated later.
class SoupBinReceiver {
public:
    using Session = feed::moldudp64_layout::Session;

    explicit SoupBinReceiver(const net::SoupBinClient::Options& options);

    /// Returns what one receive call has brought, valid until the next call; empty if there was nothing.
    [[nodiscard]] std::span<const net::Datagram> poll() noexcept;
    /// The session, if the newest poll logged in to another one than before. Its datagrams are all of this session.
    [[nodiscard]] const std::optional<Session>& new_session() const noexcept { return new_session_; }
    /// Connects when it is time, sends heartbeats, and drops a silent server; call it a few times a second.
    void beat() noexcept;

    [[nodiscard]] Line line() const noexcept { return {report_, counters_, client_.fd()}; }
    [[nodiscard]] const net::SoupBinClient& client() const noexcept { return client_; }

private:
    friend net::SoupBinClient;
    // Longest datagram, except for one message that is longer: datagrams of a capture can be sent again.
    static constexpr std::size_t kDatagramBytes = 1'400;
    static constexpr std::size_t kBufferBytes = std::size_t{384} * 1'024;
    static constexpr std::size_t kMaxDatagrams = 1'024;

    // Handler of the client.
    void on_login(const net::soupbin::Session& session, std::uint64_t next, bool is_new) noexcept;
    void on_message(std::span<const std::byte> message, std::uint64_t number) noexcept;
    void on_heartbeat(std::uint64_t next) noexcept;
    void on_end_of_session(std::uint64_t next) noexcept;

    void begin(std::size_t bytes) noexcept;
    void finish() noexcept;
    void add(std::span<const std::byte> datagram) noexcept;

    net::SoupBinClient client_;
    net::ReceiveReport report_;
    net::ReceiveCounters counters_;
    feed::MoldUdp64Encoder encoder_{""};
    std::vector<std::byte> buffer_;
    std::vector<net::Datagram> datagrams_;
    std::size_t used_{0};     // bytes of the buffer in datagrams
    bool is_open_{false};     // the encoder has a datagram that is not finished
    bool is_alive_{false};    // the server has announced its next number since the last poll
    bool has_joined_{false};  // there was a login
    std::optional<Session> new_session_;
};

}  // namespace millpond::gateway
