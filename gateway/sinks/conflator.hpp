#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// The newest waiting quote of each instrument; those that have waited longest come first.
///
/// Threads: one.
/// Memory:  a quote for each instrument that ever waited.
class Conflator {
public:
    struct Waiting {
        feed::Quote quote;
        std::uint64_t number;  ///< Of its ring entry.
    };

    /// False if it replaces an older quote of the instrument.
    bool put(const feed::Quote& quote, std::uint64_t number) {
        if (quote.instrument >= slots_.size()) slots_.resize(quote.instrument + std::size_t{1});
        auto& slot = slots_[quote.instrument];
        slot.content = {quote, number};
        if (slot.waits) return false;
        slot.waits = true;
        ++size_;
        order_.push_back(quote.instrument);
        return true;
    }

    /// Removes the quote that has waited longest; false if there is none.
    bool take(Waiting& into) {
        while (!order_.empty()) {
            auto& slot = slots_[order_.front()];
            order_.pop_front();
            if (!slot.waits) continue;  // voided meanwhile
            slot.waits = false;
            --size_;
            into = slot.content;
            return true;
        }
        return false;
    }

    /// Drops quotes that the Clear voids and returns their number.
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

    /// Marks waiting quotes of the channel, or of all channels without one, as incomplete.
    void mark_incomplete(std::optional<std::uint16_t> channel) noexcept {
        for (auto& slot : slots_) {
            auto& quote = slot.content.quote;
            if (slot.waits && (!channel || quote.channel == *channel)) quote.flags |= feed::kIncomplete;
        }
    }

    /// Quotes that wait.
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
