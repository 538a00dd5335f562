#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// Marks the last order and the last level of each group with kLast, for outputs that have one kind of event only. The
/// last event of a group is often a quote, which such an output does not have.
///
/// A group has its orders first, then its levels, then its trade and its quote, so the next event of the instrument
/// shows whether an order or level is the last of its kind; it is held until then. A group that does not end (a Gap, a
/// Clear, a loss) gets no mark.
///
/// Threads: one.
class LastOfKind {
public:
    /// Reads any event. Calls pass(event, number) for each order and level, in their order, when its mark is known.
    template <class Event, class Pass>
    void on(const Event& event, std::uint64_t number, Pass&& pass) {
        constexpr bool kHasKind = std::same_as<Event, feed::Order> || std::same_as<Event, feed::Level>;
        if constexpr (kHasKind) {
            release(instrument_ == event.instrument && !std::holds_alternative<Event>(held_), pass);
            if ((event.flags & feed::kLast) != 0) return static_cast<void>(pass(event, number));
            held_ = event;
            instrument_ = event.instrument;
            number_ = number;
        } else if constexpr (std::same_as<Event, feed::Trade> || std::same_as<Event, feed::Quote>) {
            end_of_kind(event.instrument, pass);
        } else {
            release(false, pass);
        }
    }
    /// Reads an order or level in place of on(), if the output does not have its kind: it is not passed on.
    template <class Pass>
    void end_of_kind(feed::InstrumentId instrument, Pass&& pass) {
        release(instrument_ == instrument, pass);
    }
    /// Passes on the held event without a mark, because its group does not end.
    template <class Pass>
    void cut(Pass&& pass) {
        release(false, pass);
    }
    /// Forgets the held event.
    void reset() noexcept { held_ = std::monostate{}; }

    /// Number of the held event; nullopt if there is none.
    [[nodiscard]] std::optional<std::uint64_t> held() const noexcept {
        return std::holds_alternative<std::monostate>(held_) ? std::nullopt : std::optional{number_};
    }

private:
    using Held = std::variant<std::monostate, feed::Order, feed::Level>;

    template <class Pass>
    void release(bool is_last, Pass& pass) {
        if (!held()) return;
        const auto number = number_;
        const auto pass_marked = [&](auto& event) {
            if (is_last) event.flags = static_cast<std::uint16_t>(event.flags | feed::kLast);
            pass(std::as_const(event), number);
        };
        auto held = std::exchange(held_, std::monostate{});
        if (auto* const order = std::get_if<feed::Order>(&held)) pass_marked(*order);
        if (auto* const level = std::get_if<feed::Level>(&held)) pass_marked(*level);
    }

    Held held_;
    feed::InstrumentId instrument_{feed::kNoInstrument};
    std::uint64_t number_{0};
};

}  // namespace millpond::gateway
