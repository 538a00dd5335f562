#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/tls/context.hpp>

#include "src/engine/connect/proxy_handshake.hpp"
#include "src/engine/io/name_lookup.hpp"
#include "src/engine/session/session_host.hpp"

namespace millpond::engine {

/// Keeps one initiated session connected, on the session's I/O thread.
class Initiator::Dialer final : public Participant, public Watcher, public HostObserver {
public:
    Dialer(SessionOptions session, Options options, Application& application, IoThread& io);
    void begin();
    void end();
    [[nodiscard]] SessionHost& host() const noexcept { return *host_; }
    [[nodiscard]] std::shared_ptr<SessionHandle> handle() const noexcept { return {host_, &host_->handle()}; }

    std::int64_t on_timer(core::Moment now) override;
    void on_drain(core::Moment now, std::int64_t deadline_ns) override;
    void on_ready(std::uint32_t events, core::Moment now) override;
    void on_host_logon() override { logged_on_ = true; }
    void on_host_closed(Closed reason, core::Moment now) override;
    void on_host_enabled(bool enabled, core::Moment now) override;

private:
    enum class Phase : std::uint8_t {
        waiting,     ///< Waits until next_ns_.
        looking_up,  ///< Looks up the host's name.
        connecting,  ///< socket_ is connecting.
        tunnelling,  ///< handshake_ asks the proxy for a connection to the host.
        connected,   ///< The session has the connection.
    };

    void look_up(core::Moment now);
    void connect_next(core::Moment now);
    /// Target of the name lookup and of the connection: the proxy, if there is one.
    [[nodiscard]] const Host& next_hop() const noexcept;
    [[nodiscard]] bool open_socket();
    void continue_handshake(core::Moment now);
    void address_failed(std::string_view why, core::Moment now);
    void connected(core::Moment now);
    void host_failed(core::Moment now);
    void drop_socket() noexcept;
    void wait_until(std::int64_t monotonic_ns);
    [[nodiscard]] std::int64_t jittered(std::int64_t nanos);

    IoLoop* loop_;
    std::size_t slot_{0};
    Options options_;
    std::unique_ptr<tls::Context> tls_;
    std::shared_ptr<SessionHost> host_;
    Phase phase_{Phase::waiting};
    std::int64_t next_ns_{0};  // when the phase is checked next
    std::size_t at_host_{0};
    std::size_t failed_hosts_{0};  // consecutive failures
    std::int64_t backoff_ns_;
    std::optional<NameLookup> lookup_;
    std::vector<net::SocketAddress> addresses_;  // untried addresses of the host; the last one is next
    net::SocketAddress address_;
    core::Descriptor socket_;
    std::optional<ProxyHandshake> handshake_;
    std::int64_t give_up_ns_{0};
    std::int64_t connected_ns_{0};
    bool logged_on_{false};
    std::minstd_rand random_;
};

}  // namespace millpond::engine
