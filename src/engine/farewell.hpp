#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/engine/io_thread.hpp>

#include "connection.hpp"

namespace millpond::engine {

/// Connections that their session has released: writes the remaining output, closes our side, and gives the peer a
/// moment to read and to close its side. Closing at once would make the kernel discard what the peer has not read.
///
/// Threads: the I/O thread's. Memory: a copy of the remaining output; bounded in connections.
class Farewell final : public ConnectionOwner {
public:
    Farewell(IoThread& io, std::size_t most) : io_(&io), most_(most) {}
    ~Farewell() = default;
    Farewell(const Farewell&) = delete;
    Farewell& operator=(const Farewell&) = delete;

    /// If there are too many, the oldest is closed.
    void add(std::unique_ptr<Connection> connection, const OutputQueue& left, core::Moment now);
    void add(std::unique_ptr<Connection> connection, core::Moment now);
    /// Closes those that have timed out.
    void run(core::Moment now);
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;
    void clear() noexcept { leaving_.clear(); }

    void on_ready(Connection& connection, core::Moment now) override;

private:
    struct Leaving {
        std::unique_ptr<Connection> connection;
        OutputQueue output;
        std::int64_t until_ns;
        bool shut;
    };
    void begin(Leaving leaving);
    /// False when it has ended.
    [[nodiscard]] static bool write(Leaving& leaving);

    IoThread* io_;
    std::size_t most_;
    std::vector<Leaving> leaving_;
};

}  // namespace millpond::engine
