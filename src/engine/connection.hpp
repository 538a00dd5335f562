#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <millpond/engine/io_thread.hpp>
#include <millpond/net/socket_address.hpp>

#include "input_buffer.hpp"
#include "output_queue.hpp"
#include "transport.hpp"

namespace millpond::engine {

class Connection;

/// Callbacks of a connection.
class ConnectionOwner {
public:
    /// There may be bytes to read, or room to write, or an end.
    virtual void on_ready(Connection& connection, core::Moment now) = 0;

protected:
    ~ConnectionOwner() = default;
};

/// A socket that an I/O thread watches for its current owner.
class Connection final : public detail::Watcher {
public:
    Connection(std::unique_ptr<Transport> transport, const net::SocketAddress& peer, core::Moment now)
        : transport_(std::move(transport)), peer_(peer), since_ns_(now.monotonic_ns) {}
    ~Connection() override { unwatch(); }

    /// Starts to watch it on this thread, for this owner.
    void watch(IoThread& io, ConnectionOwner& owner);
    void unwatch() noexcept;
    void hand_to(ConnectionOwner& owner) noexcept { owner_ = &owner; }

    /// Reads what is available into `input`, up to its free space. False when the connection has ended.
    [[nodiscard]] bool receive(InputBuffer& input) noexcept;
    /// Writes as much of `output` as the socket accepts; calls `written(sequence)` for written messages. False when the
    /// connection has ended.
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
    /// Whether the owner is notified of input. If not, the peer fills the socket and then waits.
    void watch_readable(bool wanted) noexcept;

    [[nodiscard]] Transport& transport() noexcept { return *transport_; }
    [[nodiscard]] const net::SocketAddress& peer() const noexcept { return peer_; }
    /// Monotonic.
    [[nodiscard]] std::int64_t since_ns() const noexcept { return since_ns_; }

    void on_ready(std::uint32_t events, core::Moment now) override;

private:
    void watch_writable(bool wanted) noexcept;
    void apply() noexcept;

    std::unique_ptr<Transport> transport_;
    net::SocketAddress peer_;
    std::int64_t since_ns_;
    IoThread* io_{nullptr};
    ConnectionOwner* owner_{nullptr};
    bool reads_{true};
    bool writes_{false};
};

}  // namespace millpond::engine
