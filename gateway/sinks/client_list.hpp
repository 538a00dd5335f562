#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/sinks/account.hpp"

namespace millpond::gateway {

/// A client that is connected to a sink.
struct ClientState {
    std::uint64_t id{0};  ///< Unique in the sink.
    std::string peer{};   ///< Address and port.
    std::string name{};   ///< Its own name; empty if it gave none.
    std::int64_t connected_utc_ns{0};
    Account account{};
    double delivered_per_second{0};
    std::int64_t lag_ns{0};  ///< Minimum time that the oldest event has waited for it.
};

/// A client in texts for people: its address, and its own name if it has given one.
[[nodiscard]] inline std::string client_name(std::string_view peer, std::string_view name) {
    return name.empty() ? std::string{peer} : fmt::format("{} '{}'", peer, name);
}

/// The clients of a sink, for operators: the sink publishes them once a second, and ends those that are to be
/// disconnected. The sink's thread never waits for a reader.
///
/// Threads: publish and take_disconnects on the sink's, the rest on any.
/// Memory:  the newest list, and those that readers hold.
class ClientList {
public:
    using Clients = std::vector<ClientState>;

    /// Publishes the clients, in the order of their ids. Returns false, without an effect, while a reader takes the
    /// list.
    bool publish(Clients now) {
        auto shown = std::make_shared<const Clients>(std::move(now));
        const std::unique_lock lock{mutex_, std::try_to_lock};
        if (lock) clients_.swap(shown);
        return lock.owns_lock();
    }
    /// Returns and forgets the ids that disconnect() was called with; nothing while another thread uses the list.
    [[nodiscard]] std::vector<std::uint64_t> take_disconnects() {
        const std::unique_lock lock{mutex_, std::try_to_lock};
        return lock ? std::exchange(disconnects_, {}) : std::vector<std::uint64_t>{};
    }

    [[nodiscard]] std::shared_ptr<const Clients> clients() const {
        const std::lock_guard lock{mutex_};
        return clients_;
    }
    /// Lets the sink disconnect a client. Returns its address; empty if it is not connected.
    [[nodiscard]] std::string disconnect(std::uint64_t id) {
        const std::lock_guard lock{mutex_};
        const auto found = std::ranges::find(*clients_, id, &ClientState::id);
        if (found == clients_->end()) return {};
        if (std::ranges::find(disconnects_, id) == disconnects_.end()) disconnects_.push_back(id);
        return found->peer;
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Clients> clients_{std::make_shared<const Clients>()};
    std::vector<std::uint64_t> disconnects_;
};

}  // namespace millpond::gateway
