#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/engine/application.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/session_config.hpp>

namespace millpond::engine {

/// A session that an acceptor lets in.
struct AcceptedSession {
    fix::SessionConfig config;
    const fix::Dictionary* dictionary{nullptr};   ///< Header, trailer and session messages; outlives the acceptor.
    const fix::Dictionary* application{nullptr};  ///< The other messages, as fix::Validator takes it; may be null.
    std::size_t store_bytes{8U << 20U};
    std::filesystem::path store_file{};  ///< Empty: the messages are kept in memory.
};

/// Listens for FIX counterparties and runs their sessions, all on the thread that calls `poll`. Whoever connects is
/// matched by the BeginString and CompIDs of its first message; one that matches nothing, or a session that is
/// connected already, is closed without a word.
///
/// Threads: one; the tallies may be read on any.
/// Memory:  a fixed input buffer and a bounded backlog of output a connection; a peer that takes less is cut off.
/// Source:  epoll(7), tcp(7).
class Acceptor {
public:
    struct Options {
        std::string address{"127.0.0.1"};
        std::uint16_t port{0};  ///< 0: any that is free.
        std::size_t max_connections{256};
        std::size_t backlog_bytes{1U << 20U};  ///< Output that waits for a slow peer.
        std::chrono::milliseconds first_message_timeout{10'000};
    };

    /// Listens. Throws std::system_error that names address and port.
    explicit Acceptor(const Options& options);
    ~Acceptor();
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    /// application must outlive the acceptor. Throws std::invalid_argument for a second session of the same ids.
    void add(AcceptedSession session, Application& application);

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    /// Handles all that is ready; waits up to `patience` when nothing is.
    void poll(std::chrono::milliseconds patience);

    /// Begins the Logout handshake of every session that is logged on.
    void logout_all(std::string_view reason);
    /// Sessions that have a connection.
    [[nodiscard]] std::size_t connected() const noexcept;

    struct Tallies {
        core::Tally accepted;   ///< Connections.
        core::Tally unknown;    ///< Closed: the first message was none of ours.
        core::Tally duplicate;  ///< Closed: the session is connected already.
        core::Tally full;       ///< Closed: max_connections.
        core::Tally too_slow;   ///< Cut off: the backlog was full.
    };
    [[nodiscard]] const Tallies& tallies() const noexcept { return tallies_; }

private:
    class Connection;
    class Slot;

    void accept_all(std::int64_t utc_ns);
    void read(Connection& connection, std::int64_t utc_ns);
    void identify(Connection& connection, std::int64_t utc_ns);
    void run_timers(std::int64_t utc_ns);
    void close_finished(std::int64_t utc_ns);
    [[nodiscard]] int wait_ms(std::chrono::milliseconds patience, std::int64_t utc_ns) const noexcept;
    [[nodiscard]] Slot* slot_of(const fix::Message& message) const noexcept;

    Options options_;
    int listener_{-1};
    int epoll_{-1};
    std::uint16_t port_{0};
    fix::Parser parser_;
    std::vector<std::unique_ptr<Slot>> slots_;
    std::vector<std::unique_ptr<Connection>> connections_;
    Tallies tallies_;
};

}  // namespace millpond::engine
