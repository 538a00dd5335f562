#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include <millpond/engine/session_status.hpp>
#include <millpond/net/socket_address.hpp>

#include "src/engine/io/connection.hpp"

namespace millpond::engine {

/// The current connection of a session, and how it will end.
///
/// Threads: the I/O thread's; the claim on any.
class HostConnection {
public:
    /// Claims the session for a connection, on any thread. Returns false if it is already claimed.
    [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
    [[nodiscard]] bool is_claimed() const noexcept { return claimed_.load(std::memory_order_acquire); }
    void release_claim() noexcept { claimed_.store(false, std::memory_order_release); }

    void begin(std::unique_ptr<Connection> connection) {
        connection_ = std::move(connection);
        peer_ = connection_->peer();
        broken_ = false;
        cut_for_ = Closed::none;
    }
    /// Releases the connection; there is none afterwards.
    [[nodiscard]] std::unique_ptr<Connection> release() noexcept {
        peer_ = {};
        broken_ = false;
        cut_for_ = Closed::none;
        return std::move(connection_);
    }

    [[nodiscard]] bool exists() const noexcept { return connection_ != nullptr; }
    [[nodiscard]] bool is(const Connection& connection) const noexcept { return connection_.get() == &connection; }
    /// Requires that the connection exists.
    [[nodiscard]] Connection* operator->() const noexcept { return connection_.get(); }
    [[nodiscard]] Connection& operator*() const noexcept { return *connection_; }
    /// The peer's address; empty without a connection.
    [[nodiscard]] const net::SocketAddress& peer() const noexcept { return peer_; }

    /// Marks that the socket can no longer be read or written.
    void set_broken() noexcept { broken_ = true; }
    [[nodiscard]] bool is_broken() const noexcept { return broken_; }
    /// Ends the connection at the end of this action. If called again, the first reason is kept.
    void cut(Closed reason) noexcept {
        if (cut_for_ == Closed::none) cut_for_ = reason;
    }
    /// Reason for ending the connection; Closed::none: it continues.
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
    std::atomic<bool> claimed_{false};
};

}  // namespace millpond::engine
