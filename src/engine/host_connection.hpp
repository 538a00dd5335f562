#pragma once

#include <memory>
#include <utility>

#include <millpond/engine/session_status.hpp>
#include <millpond/net/socket_address.hpp>

#include "connection.hpp"

namespace millpond::engine {

/// The current connection of a session, and how it will end.
///
/// Threads: the I/O thread's.
class HostConnection {
public:
    void begin(std::unique_ptr<Connection> connection) {
        connection_ = std::move(connection);
        peer_ = connection_->peer();
        broken_ = false;
        cut_for_ = Closed::none;
    }
    /// Releases the connection; from then on there is none.
    [[nodiscard]] std::unique_ptr<Connection> release() noexcept {
        peer_ = {};
        broken_ = false;
        cut_for_ = Closed::none;
        return std::move(connection_);
    }

    [[nodiscard]] bool exists() const noexcept { return connection_ != nullptr; }
    [[nodiscard]] bool is(const Connection& connection) const noexcept { return connection_.get() == &connection; }
    /// While it exists.
    [[nodiscard]] Connection* operator->() const noexcept { return connection_.get(); }
    [[nodiscard]] Connection& operator*() const noexcept { return *connection_; }
    /// The peer's address; none without a connection.
    [[nodiscard]] const net::SocketAddress& peer() const noexcept { return peer_; }

    /// Nothing can be written or read any more.
    void set_broken() noexcept { broken_ = true; }
    [[nodiscard]] bool is_broken() const noexcept { return broken_; }
    /// It ends with this action, for the first reason given.
    void cut(Closed reason) noexcept {
        if (cut_for_ == Closed::none) cut_for_ = reason;
    }
    /// Closed::none: it goes on.
    [[nodiscard]] Closed cut_for() const noexcept { return cut_for_; }
    /// Whether bytes can still be written.
    [[nodiscard]] bool is_open() const noexcept { return connection_ != nullptr && !broken_; }
    [[nodiscard]] bool is_ending() const noexcept {
        return connection_ != nullptr && (broken_ || cut_for_ != Closed::none);
    }

private:
    std::unique_ptr<Connection> connection_;
    net::SocketAddress peer_;
    bool broken_{false};
    Closed cut_for_{Closed::none};
};

}  // namespace millpond::engine
