#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// Queue of the newest waiting quote of each instrument, in the order in which the instruments began to wait.
///
/// Threads: one.
/// Memory:  one quote for each instrument that ever waited.
class Conflator {
public:
    struct Waiting {
        feed::Quote quote;
        std::uint64_t number;  ///< Number of its ring entry.
    };

    /// Adds a quote; false if it replaced an older one of the instrument.
    bool push(const feed::Quote& quote, std::uint64_t number) {
        if (quote.instrument >= slots_.size()) slots_.resize(quote.instrument + std::size_t{1});
        auto& slot = slots_[quote.instrument];
        slot.content = {quote, number};
        if (slot.waits) return false;
        slot.waits = true;
        ++size_;
        order_.push_back(quote.instrument);
        return true;
    }

    /// Removes the oldest quote; false if there is none.
    bool pop(Waiting& into) {
        while (!order_.empty()) {
            auto& slot = slots_[order_.front()];
            order_.pop_front();
            if (!slot.waits) continue;  // voided by a Clear
            slot.waits = false;
            --size_;
            into = slot.content;
            return true;
        }
        return false;
    }

    /// Removes the quotes that the Clear voids; returns their number.
    std::uint64_t drop(const feed::Clear& clear) noexcept {
        std::uint64_t dropped = 0;
        for (auto& slot : slots_) {
            const auto& quote = slot.content.quote;
            if (!slot.waits || quote.channel != clear.channel) continue;
            if (clear.instrument != feed::kNoInstrument && clear.instrument != quote.instrument) continue;
            slot.waits = false;
            ++dropped;
        }
        size_ -= dropped;
        return dropped;
    }

    /// Marks waiting quotes of the channel, or of all channels, as incomplete.
    void mark_incomplete(std::optional<std::uint16_t> channel) noexcept {
        for (auto& slot : slots_) {
            auto& quote = slot.content.quote;
            if (slot.waits && (!channel || quote.channel == *channel)) quote.flags |= feed::kIncomplete;
        }
    }

    /// Number of waiting quotes.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

private:
    struct Slot {
        Waiting content{};
        bool waits{false};
    };
    std::vector<Slot> slots_;
    std::deque<feed::InstrumentId> order_;
    std::uint64_t size_{0};
};

}  // namespace millpond::gateway
