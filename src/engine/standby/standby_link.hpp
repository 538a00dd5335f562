#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/engine/standby.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/metrics/registry.hpp>
#include <millpond/tls/context.hpp>

#include "src/engine/io/connection.hpp"
#include "src/engine/io/input_buffer.hpp"
#include "src/engine/io/io_loop.hpp"
#include "src/engine/io/name_lookup.hpp"
#include "src/engine/io/output_queue.hpp"
#include "src/engine/standby/replica_source.hpp"

namespace millpond::engine {

/// Keeps a session connected to its standby, on the session's I/O thread. It never blocks.
///
/// Threads: the I/O thread's; status on any.
/// Memory:  both buffers, allocated in the constructor.
class StandbyLink final : public Participant, public Watcher, public ConnectionOwner {
public:
    /// Called when the standby has acknowledged more, was lost, or has returned.
    using OnChange = std::function<void(core::Moment now)>;

    /// store: must outlive it. Throws like tls::Context.
    StandbyLink(StandbyOptions options, fix::FileStore& store, std::string identity, std::size_t max_message,
                IoLoop& loop, OnChange on_change);
    ~StandbyLink() override = default;

    void begin();
    void end();
    /// Starts from the beginning, like after a restart of the process.
    void restart(core::Moment now);

    /// Records the position of the store and sends missing messages to the standby.
    void publish(core::Moment now);
    [[nodiscard]] std::uint64_t serial() const noexcept { return source_.serial(); }
    [[nodiscard]] std::uint64_t acked() const noexcept { return source_.acked(); }
    /// Whether output must wait for the standby.
    [[nodiscard]] bool holds() const noexcept {
        return options_.mode == StandbyMode::received && state_ != StandbyStatus::State::lost;
    }
    [[nodiscard]] bool is_superseded() const noexcept { return state_ == StandbyStatus::State::superseded; }
    /// Whether the session may have a connection.
    [[nodiscard]] bool permits() const noexcept { return permits_; }
    [[nodiscard]] StandbyStatus status() const;
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry,
                                                                 const std::string& session) const;

    // Participant, Watcher, ConnectionOwner
    std::int64_t on_timer(core::Moment now) override;
    void on_ready(std::uint32_t events, core::Moment now) override;
    void on_ready(Connection& connection, core::Moment now) override;

private:
    void dial(core::Moment now);
    void connect_next(core::Moment now);
    void connected(core::Moment now);
    void drop(std::string_view why, core::Moment now);
    void drop_socket() noexcept;
    void flush(core::Moment now);
    void follow(core::Moment now);
    void on_timeout(core::Moment now);
    void show() noexcept;
    void note_copied() noexcept;
    [[nodiscard]] bool runs_without() const noexcept;
    void set_state(StandbyStatus::State state) noexcept;
    [[nodiscard]] std::int64_t lost_at_ns() const noexcept;
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;

    StandbyOptions options_;
    fix::FileStore* store_;
    IoLoop* loop_;
    OnChange on_change_;
    std::unique_ptr<tls::Context> tls_;
    std::size_t slot_{0};
    OutputQueue output_;
    InputBuffer input_;
    ReplicaSource source_;

    std::optional<NameLookup> lookup_;
    std::vector<net::SocketAddress> addresses_;  // untried addresses; the last one is next
    core::Descriptor socket_;                    // a connecting socket
    net::SocketAddress address_;
    std::unique_ptr<Connection> connection_;
    std::int64_t next_ns_{0};  // time to dial or to give up; core::kNever: neither
    std::int64_t backoff_ns_;
    std::int64_t detached_ns_{0};   // when it was last detached
    std::int64_t last_sent_ns_{0};  // time of the latest frame to the standby
    bool permits_{false};
    bool is_whole_;  // the standby has acknowledged all output

    StandbyStatus::State state_{StandbyStatus::State::connecting};
    std::atomic<StandbyStatus::State> shown_{StandbyStatus::State::connecting};
    core::Tally behind_;
    core::Tally losses_;
    core::Tally skipped_;
    std::atomic<bool> goes_on_{false};
    mutable std::mutex error_lock_;
    std::string error_;
};

}  // namespace millpond::engine
