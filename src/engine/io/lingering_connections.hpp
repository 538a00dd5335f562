#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/engine/io/connection.hpp"
#include "src/engine/io/io_loop.hpp"

namespace millpond::engine {

/// Connections that their session has released: writes the remaining output, closes our side, and gives the peer some
/// time to read and to close its side. If the connection were closed at once, the kernel would discard data that the
/// peer has not read.
///
/// Threads: the I/O thread's. Memory: a copy of the remaining output; bounded in connections.
class LingeringConnections final : public ConnectionOwner {
public:
    LingeringConnections(IoLoop& loop, std::size_t max) : loop_(&loop), max_(max) {}
    ~LingeringConnections() = default;
    LingeringConnections(const LingeringConnections&) = delete;
    LingeringConnections& operator=(const LingeringConnections&) = delete;

    /// Adds a connection. If there are too many, closes the oldest.
    void add(std::unique_ptr<Connection> connection, const OutputQueue& left, core::Moment now);
    void add(std::unique_ptr<Connection> connection, core::Moment now);
    /// Closes connections that have timed out.
    void run(core::Moment now);
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;
    void clear() noexcept { connections_.clear(); }

    void on_ready(Connection& connection, core::Moment now) override;

private:
    struct Lingering {
        std::unique_ptr<Connection> connection;
        OutputQueue output;
        std::int64_t until_ns;
        bool shut;
    };
    void begin(Lingering lingering);
    /// Returns false if the connection has ended.
    [[nodiscard]] static bool write(Lingering& lingering);

    IoLoop* loop_;
    std::size_t max_;
    std::vector<Lingering> connections_;
};

}  // namespace millpond::engine
