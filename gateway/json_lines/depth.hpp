#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway::json_lines {

/// What a client gets of a book.
struct Depth {
    std::uint32_t levels{0};  ///< Levels of a side; 0: none, feed::kFullDepth: all.
    bool orders{false};

    [[nodiscard]] constexpr bool is_on() const noexcept { return levels != 0 || orders; }
    friend bool operator==(const Depth&, const Depth&) = default;
};

/// What the clients of a sink may have of books; each includes the ones before it.
enum class Entitlement : std::uint8_t {
    quotes,  ///< The best bid and offer.
    levels,
    orders,
};

/// Counts the subscriptions with depth, so that only events that a client needs become lines.
///
/// Threads: one.
/// Memory:  8 bytes for every instrument up to the highest ever subscribed.
class DepthDemand {
public:
    /// Adds a subscription of an instrument; kNoInstrument: of all.
    void add(feed::InstrumentId id, Depth depth) { count(id, depth, 1); }
    /// Removes a subscription that was added.
    void remove(feed::InstrumentId id, Depth depth) { count(id, depth, -1); }

    [[nodiscard]] bool wants_levels(feed::InstrumentId id) const noexcept { return users(id, &Users::levels); }
    [[nodiscard]] bool wants_orders(feed::InstrumentId id) const noexcept { return users(id, &Users::orders); }
    /// The depths of all subscriptions with levels, each with their number.
    [[nodiscard]] const std::map<std::uint32_t, std::int32_t>& depths() const noexcept { return depths_; }

private:
    struct Users {
        std::int32_t levels{0};
        std::int32_t orders{0};
    };

    [[nodiscard]] bool users(feed::InstrumentId id, std::int32_t Users::* kind) const noexcept {
        return of_all_.*kind != 0 || (id < users_.size() && users_[id].*kind != 0);
    }
    void count(feed::InstrumentId id, Depth depth, std::int32_t change) {
        if (id != feed::kNoInstrument && id >= users_.size()) users_.resize(std::size_t{id} + 1);
        auto& users = id == feed::kNoInstrument ? of_all_ : users_[id];
        if (depth.orders) users.orders += change;
        if (depth.levels == 0) return;
        users.levels += change;
        auto& subscriptions = depths_[depth.levels];
        subscriptions += change;
        if (subscriptions == 0) depths_.erase(depth.levels);
    }

    Users of_all_;
    std::vector<Users> users_;
    std::map<std::uint32_t, std::int32_t> depths_;
};

}  // namespace millpond::gateway::json_lines
