#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <millpond/net/socket_address.hpp>

#include "src/engine/io/input_buffer.hpp"
#include "src/engine/io/io_loop.hpp"
#include "src/engine/io/output_queue.hpp"
#include "src/engine/io/transport.hpp"

namespace millpond::engine {

class Connection;

/// Callbacks of a connection.
class ConnectionOwner {
public:
    /// Called when the connection may be readable or writable, or has ended.
    virtual void on_ready(Connection& connection, core::Moment now) = 0;

protected:
    ~ConnectionOwner() = default;
};

/// A socket that an I/O thread watches for its current owner.
class Connection final : public Watcher {
public:
    Connection(std::unique_ptr<Transport> transport, const net::SocketAddress& peer, core::Moment now)
        : transport_(std::move(transport)), peer_(peer), since_ns_(now.monotonic_ns) {}
    ~Connection() override { unwatch(); }

    /// Starts to watch the socket on this loop, for this owner.
    void watch(IoLoop& loop, ConnectionOwner& owner);
    void unwatch() noexcept;
    void hand_to(ConnectionOwner& owner) noexcept { owner_ = &owner; }

    /// Reads the available bytes into `input`, up to its free space. Returns false if the connection has ended.
    [[nodiscard]] bool receive(InputBuffer& input) noexcept;
    /// Writes as much of `output` as the socket accepts; calls `written(sequence)` for written messages. Returns false
    /// if the connection has ended.
    template <class Written>
    [[nodiscard]] bool send(OutputQueue& output, Written&& written) {
        constexpr std::size_t kPiecesAtOnce = 64;
        std::array<std::string_view, kPiecesAtOnce> pieces;
        while (output.is_ready()) {
            const auto count = output.front(pieces);
            const auto moved = transport_->send({pieces.data(), count});
            if (moved.bytes != 0) {
                if (const auto sequence = output.written(moved.bytes); sequence != 0) written(sequence);
            }
            if (moved.over) return false;
            if (moved.bytes == 0) break;
        }
        watch_writable(output.is_ready() || transport_->wants_writable());
        return true;
    }
    /// Sets whether the owner is notified of input. If not, the peer fills the socket and then waits.
    void watch_readable(bool wanted) noexcept;

    [[nodiscard]] Transport& transport() noexcept { return *transport_; }
    [[nodiscard]] const net::SocketAddress& peer() const noexcept { return peer_; }
    /// Monotonic time at which it was accepted or connected.
    [[nodiscard]] std::int64_t since_ns() const noexcept { return since_ns_; }

    void on_ready(std::uint32_t events, core::Moment now) override;

private:
    void watch_writable(bool wanted) noexcept;
    void apply() noexcept;

    std::unique_ptr<Transport> transport_;
    net::SocketAddress peer_;
    std::int64_t since_ns_;
    IoLoop* loop_{nullptr};
    ConnectionOwner* owner_{nullptr};
    bool reads_{true};
    bool writes_{false};
};

}  // namespace millpond::engine
