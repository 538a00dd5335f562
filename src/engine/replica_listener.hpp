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

#include "accept_pause.hpp"
#include "connection.hpp"
#include "farewell.hpp"
#include "input_buffer.hpp"
#include "output_queue.hpp"
#include "replica_sink.hpp"
#include "store_keeper.hpp"

namespace millpond::engine {

/// Accepts primaries and writes their messages into the stores of their sessions, on its I/O thread.
class ReplicaServer::Listener final : public detail::Participant, public detail::Watcher, public ConnectionOwner {
public:
    Listener(IoThread& io, Options options);
    ~Listener() override = default;
    void begin();
    void end();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] bool add(const SessionOptions& session);
    void remove(std::string_view name);
    [[nodiscard]] std::vector<ReplicaStatus> replicas() const;
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;
    [[nodiscard]] std::expected<std::uint64_t, std::string> promote(std::string_view name, bool force);

    std::int64_t on_timer(core::Moment now) override;
    void on_ready(std::uint32_t events, core::Moment now) override;
    void on_ready(Connection& connection, core::Moment now) override;

private:
    /// A session's copy. Without a store it was promoted.
    struct Replica {
        std::string identity;
        std::size_t most_message;
        std::unique_ptr<fix::FileStore> store;
        std::unique_ptr<ReplicaSink> sink;
        ReplicaStatus status;  // lock_
    };
    /// A connection.
    struct Guest {
        std::unique_ptr<Connection> connection;
        InputBuffer input;
        OutputQueue output;
        Replica* replica;  // null: it has not identified its session
        std::int64_t heard_ns;
    };

    [[nodiscard]] Replica* find(std::string_view name) const noexcept;
    void make_room(core::Moment now);
    /// False if the connection must end.
    [[nodiscard]] bool take(Guest& guest, core::Moment now);
    [[nodiscard]] bool take_hello(Guest& guest, core::Moment now);
    void pause_accepting(int error, core::Moment now);
    void count(ReplicaRefusal reason, const net::SocketAddress& peer, std::string_view session,
               std::string_view detail);
    void count_stranger(const Guest& guest, std::string_view why);
    void tell(Guest& guest, replication::Reason reason, std::uint64_t epoch, std::string_view text);
    [[nodiscard]] bool refuse(Guest& guest, replication::Reason reason, std::uint64_t epoch, std::string_view session,
                              std::string_view text);
    [[nodiscard]] bool refuse_of_promoted(Guest& guest, const Replica& replica, std::uint64_t epoch);
    void part(Guest& guest, std::string_view why, core::Moment now);
    void part_from(const Replica& replica, std::string_view why, core::Moment now);
    void forget_parted();
    void show(Replica& replica, core::Moment now);
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;

    IoThread* io_;
    Options options_;
    std::unique_ptr<TlsContext> tls_;
    core::Descriptor socket_;
    std::uint16_t port_{0};
    std::size_t slot_{0};
    Farewell farewell_;
    AcceptPause pause_;
    StoreKeeper keeper_;
    std::vector<std::unique_ptr<Guest>> guests_;
    std::array<core::Tally, static_cast<std::size_t>(ReplicaRefusal::protocol) + 1> refusals_;
    std::vector<std::unique_ptr<Replica>> replicas_;
    mutable std::mutex lock_;  // of replicas_ and their status
};

}  // namespace millpond::engine
