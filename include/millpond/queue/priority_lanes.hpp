#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <type_traits>
#include <utility>

#include <millpond/queue/mpsc_ring.hpp>

namespace millpond::queue {

/// N bounded rings, lane 0 the most urgent, from any number of producer threads to one consumer thread.
///
/// The consumer pops from the most urgent lane that has a message; messages of a lane keep their order. With a patience
/// P > 0 no lane starves: a message at the front of a lane waits for at most P + N - 1 others. With P = 0, the default,
/// a lane waits while more urgent lanes have messages.
///
/// Threads: try_push on any; try_pop on one; size on any.
/// Memory:  N MpscRings, allocated once from `memory` in the constructor.
template <class T, std::size_t N>
class PriorityLanes {
    static_assert(N >= 1);

public:
    /// capacity: messages of each lane, a power of two. Throws std::invalid_argument otherwise.
    explicit PriorityLanes(std::size_t capacity, std::uint32_t patience = 0,
                           std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : PriorityLanes(capacity, patience, memory, std::make_index_sequence<N>{}) {}

    /// False when the lane is full; `message` is then unchanged. lane < N.
    [[nodiscard]] bool try_push(std::size_t lane, T&& message) noexcept {
        return lanes_[lane].try_push(std::move(message));
    }
    [[nodiscard]] bool try_push(std::size_t lane, const T& message) noexcept
        requires std::is_nothrow_copy_constructible_v<T>
    {
        return lanes_[lane].try_push(message);
    }

    /// Returns the lane of the message, or nullopt if all lanes are empty; `into` is then unchanged. O(N).
    [[nodiscard]] std::optional<std::size_t> try_pop(T& into) noexcept;

    /// Number of messages in a lane at some moment during the call.
    [[nodiscard]] std::size_t size(std::size_t lane) const noexcept { return lanes_[lane].size(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return lanes_[0].capacity(); }
    [[nodiscard]] static constexpr std::size_t lanes() noexcept { return N; }

private:
    template <std::size_t... kLane>
    PriorityLanes(std::size_t capacity, std::uint32_t patience, std::pmr::memory_resource* memory,
                  std::index_sequence<kLane...>)
        : lanes_{((void)kLane, MpscRing<T>{capacity, memory})...}, patience_(patience) {}

    [[nodiscard]] std::optional<std::size_t> overdue_lane() const noexcept;
    void note(std::size_t served) noexcept;

    std::array<MpscRing<T>, N> lanes_;
    std::uint32_t patience_;
    std::array<std::uint32_t, N> waited_{};  // messages of other lanes popped since the lane's first message arrived
};

template <class T, std::size_t N>
std::optional<std::size_t> PriorityLanes<T, N>::try_pop(T& into) noexcept {
    if (patience_ == 0) {
        for (std::size_t lane = 0; lane < N; ++lane) {
            if (lanes_[lane].try_pop(into)) return lane;
        }
        return std::nullopt;
    }
    if (const auto due = overdue_lane(); due && lanes_[*due].try_pop(into)) {
        note(*due);
        return due;
    }
    for (std::size_t lane = 0; lane < N; ++lane) {
        if (!lanes_[lane].try_pop(into)) continue;
        note(lane);
        return lane;
    }
    return std::nullopt;
}

/// The lane whose first message has waited longest, if for `patience` messages or more; of equal lanes the more urgent.
template <class T, std::size_t N>
std::optional<std::size_t> PriorityLanes<T, N>::overdue_lane() const noexcept {
    std::size_t longest = 0;
    for (std::size_t lane = 1; lane < N; ++lane) {
        if (waited_[lane] > waited_[longest]) longest = lane;
    }
    if (waited_[longest] < patience_) return std::nullopt;
    return longest;
}

template <class T, std::size_t N>
void PriorityLanes<T, N>::note(std::size_t served) noexcept {
    for (std::size_t lane = 0; lane < N; ++lane) {
        waited_[lane] = lane != served && lanes_[lane].ready() ? waited_[lane] + 1 : 0;
    }
}

}  // namespace millpond::queue
