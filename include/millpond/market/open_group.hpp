#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include <millpond/feed/event.hpp>

namespace millpond::market {

using GroupEntry = std::variant<feed::Order, feed::Level, feed::Trade, feed::Quote>;

/// True for events that belong to a group, which ends with the first of them that has the flag kLast.
template <class Event>
inline constexpr bool kIsOfGroup = std::is_constructible_v<GroupEntry, std::in_place_type_t<Event>, const Event&>;

/// A level without a side restarts the book.
[[nodiscard]] inline bool has_side(const feed::Level& level) noexcept {
    return level.side == feed::Side::bid || level.side == feed::Side::ask;
}

/// The group of one instrument, from its first event to its last one. RingWriter holds its events back here, because
/// the levels on the board must change before the first of them is published.
///
/// Threads: one.
/// Memory:  12 KiB, in the object.
class OpenGroup {
public:
    /// Entries: a snapshot of 50 levels a side, an order for each of some levels, trade and quote.
    static constexpr std::size_t kCapacity = 128;

    [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
    [[nodiscard]] bool is_full() const noexcept { return size_ == kCapacity; }
    [[nodiscard]] feed::InstrumentId instrument() const noexcept { return instrument_; }
    [[nodiscard]] std::uint16_t channel() const noexcept { return channel_; }
    [[nodiscard]] std::span<const GroupEntry> entries() const noexcept { return std::span{entries_}.first(size_); }
    /// Number of levels, and the index of the last one.
    [[nodiscard]] std::size_t levels() const noexcept { return levels_; }
    [[nodiscard]] std::size_t last_level() const noexcept { return last_level_; }
    /// True if one of the levels has no side: it empties the book before the levels that follow.
    [[nodiscard]] bool restarts() const noexcept { return restarts_; }
    /// True if the depth slot must be written for this group. A group with levels changes them. A group with a quote
    /// after other events changes only the slot's number: a reader that joins in the middle of the group finds its
    /// quote on the board, skips that entry, and so would never see the end of a group that it reads from the ring.
    /// With the number, it skips the whole group.
    [[nodiscard]] bool changes_slot() const noexcept { return levels_ != 0 || has_late_quote_; }
    /// True if an event has the flag kIncomplete.
    [[nodiscard]] bool is_incomplete() const noexcept { return (flags_ & feed::kIncomplete) != 0; }

    /// True if the group is empty, or of the event's instrument and channel.
    template <class Event>
    [[nodiscard]] bool accepts(const Event& event) const noexcept {
        return is_empty() || (event.instrument == instrument_ && event.channel == channel_);
    }
    /// Requires accepts(event) and a group that is not full.
    template <class Event>
    void add(const Event& event) noexcept {
        if constexpr (std::is_same_v<Event, feed::Level>) {
            ++levels_;
            last_level_ = size_;
            if (!has_side(event)) restarts_ = true;
        }
        if constexpr (std::is_same_v<Event, feed::Quote>) has_late_quote_ = has_late_quote_ || size_ != 0;
        entries_[size_++].template emplace<Event>(event);
        instrument_ = event.instrument;
        channel_ = event.channel;
        flags_ |= event.flags;
    }
    void clear() noexcept {
        size_ = 0;
        levels_ = 0;
        flags_ = 0;
        restarts_ = has_late_quote_ = false;
    }

private:
    std::size_t size_{0};
    std::size_t levels_{0};
    std::size_t last_level_{0};
    feed::InstrumentId instrument_{feed::kNoInstrument};
    std::uint16_t channel_{0};
    std::uint16_t flags_{0};
    bool restarts_{false};
    bool has_late_quote_{false};  // not as the first entry
    std::array<GroupEntry, kCapacity> entries_{};
};

}  // namespace millpond::market
