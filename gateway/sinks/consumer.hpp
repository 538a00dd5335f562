#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway {

/// A running sink, which reads the ring (sink_thread.hpp) or the journal.
///
/// Threads: start and stop on one, the rest on any.
class Consumer {
public:
    Consumer() = default;
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;
    virtual ~Consumer() = default;

    /// Starts the sink's thread. Throws std::runtime_error that names the sink if its thread cannot be pinned.
    virtual void start() = 0;
    /// Called before stop() if a reload removes or replaces the sink.
    virtual void note_reload() {}
    /// Stops after passing on waiting events, for a short time and while there is progress.
    virtual void stop() = 0;

    [[nodiscard]] virtual const std::string& name() const noexcept = 0;
    /// Name of the ring.
    [[nodiscard]] virtual const std::string& ring() const noexcept = 0;
    /// Name of its kind, and prefix of its metrics: "tcp".
    [[nodiscard]] virtual std::string_view type() const noexcept = 0;
    /// Whether an error has stopped it; further events wait until the ring overwrites them.
    [[nodiscard]] virtual bool ended() const noexcept = 0;
    /// Returns the account, which adds up at any time.
    [[nodiscard]] virtual Account account() const noexcept = 0;
    /// Calls visit(name, help, tally) for each of its metrics; counters end in _total.
    virtual void visit_metrics(const MetricVisitor& visit) const = 0;
    [[nodiscard]] virtual SinkHealth health() const noexcept = 0;
    /// Time for which it may delay an event on purpose.
    [[nodiscard]] virtual std::chrono::nanoseconds holds() const noexcept { return {}; }
    /// Returns and resets the maximum time from the receipt of an event until it was passed on, in processor ticks.
    /// Only one thread may call it.
    [[nodiscard]] virtual std::uint64_t reset_max_lag() const noexcept { return 0; }
    /// Address for clients; empty if it has none.
    [[nodiscard]] virtual net::SocketAddress address() const { return {}; }
    /// The list of its clients; null if it cannot have clients.
    [[nodiscard]] virtual std::shared_ptr<ClientList> client_list() const noexcept { return nullptr; }
    /// The journal that it writes; nullopt if it is not a journal sink.
    [[nodiscard]] virtual std::optional<JournalSource> journal() const { return std::nullopt; }
    /// Position at which its replacement continues; nullopt if that starts with the board. Call it after stop().
    [[nodiscard]] virtual std::optional<RingPlace> stopped_at() const { return std::nullopt; }
};

}  // namespace millpond::gateway
