#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway {

/// A consumer as the gateway and its health see it: a sink that reads the ring (sink_thread.hpp) or one that
/// follows the journal.
///
/// Threads: start and stop on one, the rest on any.
class Consumer {
public:
    Consumer() = default;
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;
    virtual ~Consumer() = default;

    /// Throws std::runtime_error that names it when its thread cannot be as it was asked for.
    virtual void start() = 0;
    /// Lets it pass on waiting events, for a short time and while it makes progress, and stops it.
    virtual void stop() = 0;

    [[nodiscard]] virtual const std::string& name() const noexcept = 0;
    /// The ring whose events these are.
    [[nodiscard]] virtual const std::string& ring() const noexcept = 0;
    /// What it is, as its metrics are called: "tcp".
    [[nodiscard]] virtual std::string_view type() const noexcept = 0;
    /// Whether an error has stopped it; later events wait until the ring has lapped it.
    [[nodiscard]] virtual bool ended() const noexcept = 0;
    /// Closes at every moment.
    [[nodiscard]] virtual Account account() const noexcept = 0;
    /// Calls visit(name, help, tally) for each of its metrics; counters end in _total.
    virtual void visit_metrics(const MetricVisitor& visit) const = 0;
    /// For how long it may hold an event on purpose.
    [[nodiscard]] virtual std::chrono::nanoseconds holds() const noexcept { return {}; }
    /// Address for clients; empty if it has none.
    [[nodiscard]] virtual net::SocketAddress address() const { return {}; }
    /// The journal that it writes, if any.
    [[nodiscard]] virtual std::optional<JournalSource> journal() const { return std::nullopt; }
    /// After stop: where its replacement continues; empty if that one starts with the board.
    [[nodiscard]] virtual std::optional<RingPlace> stopped_at() const { return std::nullopt; }
};

}  // namespace millpond::gateway
