#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/engine/replica_server.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/tls/context.hpp>

#include "src/engine/io/accept_pause.hpp"
#include "src/engine/io/connection.hpp"
#include "src/engine/io/input_buffer.hpp"
#include "src/engine/io/io_loop.hpp"
#include "src/engine/io/lingering_connections.hpp"
#include "src/engine/io/output_queue.hpp"
#include "src/engine/standby/replica_sink.hpp"
#include "src/engine/store/store_keeper.hpp"

namespace millpond::engine {

/// Accepts primaries and writes their messages into the stores of their sessions, on its I/O thread.
class ReplicaServer::Listener final : public Participant, public Watcher, public ConnectionOwner {
public:
    Listener(IoThread& io, Options options);
    ~Listener() override = default;
    void begin();
    void end();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    void renew(std::unique_ptr<tls::Context> tls, std::function<bool(std::string_view token)> admits) {
        tls_ = std::move(tls);
        options_.admits = std::move(admits);
    }
    [[nodiscard]] bool add(const SessionOptions& session);
    void remove(std::string_view name);
    [[nodiscard]] std::vector<ReplicaStatus> replicas() const;
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;
    [[nodiscard]] std::expected<std::uint64_t, std::string> promote(std::string_view name, bool force);

    std::int64_t on_timer(core::Moment now) override;
    void on_ready(std::uint32_t events, core::Moment now) override;
    void on_ready(Connection& connection, core::Moment now) override;

private:
    /// The copy of a session. store: null once it was promoted.
    struct Replica {
        std::string identity;
        std::size_t max_message;
        std::unique_ptr<fix::FileStore> store;
        std::unique_ptr<ReplicaSink> sink;
        ReplicaStatus status;  // protected by lock_
    };
    /// A connection of a primary.
    struct Primary {
        std::unique_ptr<Connection> connection;
        InputBuffer input;
        OutputQueue output;
        Replica* replica;  // null: the primary has not named its session
        std::int64_t heard_ns;
        bool awaits_session{false};  // the session in the Hello was not added yet
    };

    [[nodiscard]] Replica* find(std::string_view name) const noexcept;
    void limit_unidentified(core::Moment now);
    /// Returns false if the connection must end.
    [[nodiscard]] bool read(Primary& primary, core::Moment now);
    void finish(Primary& primary, bool is_alive, bool goes_on, core::Moment now);
    void retry_waiting(core::Moment now);
    [[nodiscard]] bool read_hello(Primary& primary, core::Moment now);
    void pause_accepting(int error, core::Moment now);
    void count(ReplicaRefusal reason, const net::SocketAddress& peer, std::string_view session,
               std::string_view detail);
    void count_unidentified(const Primary& primary, std::string_view why);
    void send_refusal(Primary& primary, replication::Reason reason, std::uint64_t epoch, std::string_view text);
    [[nodiscard]] bool refuse(Primary& primary, replication::Reason reason, std::uint64_t epoch,
                              std::string_view session, std::string_view text);
    [[nodiscard]] bool refuse_promoted(Primary& primary, const Replica& replica, std::uint64_t epoch);
    void disconnect(Primary& primary, std::string_view why, core::Moment now);
    void disconnect_all(const Replica& replica, std::string_view why, core::Moment now);
    void remove_disconnected();
    void show(Replica& replica, core::Moment now);
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;

    IoThread* io_;
    IoLoop* loop_;
    Options options_;
    std::unique_ptr<tls::Context> tls_;
    core::Descriptor socket_;
    std::uint16_t port_{0};
    std::size_t slot_{0};
    LingeringConnections lingering_;
    AcceptPause pause_;
    StoreKeeper keeper_;
    std::vector<std::unique_ptr<Primary>> primaries_;
    std::array<core::Tally, static_cast<std::size_t>(ReplicaRefusal::protocol) + 1> refusals_;
    std::vector<std::unique_ptr<Replica>> replicas_;
    mutable std::mutex lock_;  // protects replicas_ and their status
};

}  // namespace millpond::engine
