#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/prefetch.hpp>

namespace millpond::feed {

/// The live orders of one channel, by the venue's order number.
///
/// Threads: one.
/// Memory:  48 to 96 bytes per order of the capacity, allocated and touched once in the constructor, and in try_grow.
/// Source:  open addressing with linear probing and deletion by shifting back (Knuth, TAOCP 3, 6.4, algorithm R), at
///          most half full: without tombstones the cost does not grow with the number of deleted orders.
class OrderStore {
public:
    struct Order {
        std::uint64_t number{0};
        std::uint32_t price{0};
        std::uint32_t shares{0};
        std::uint32_t generation{0};  // the store's generation at insertion; slots of other generations are empty
        std::uint16_t book{0};
        bool is_bid{false};
    };

    /// capacity: orders, 1..2^28. Throws std::invalid_argument otherwise.
    explicit OrderStore(std::size_t capacity, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Returns nullptr if there is no such order. Valid until the next put or erase.
    [[nodiscard]] Order* find(std::uint64_t number) noexcept {
        auto& slot = slots_[place_of(number)];
        return is_empty(slot) ? nullptr : &slot;
    }
    [[nodiscard]] const Order* find(std::uint64_t number) const noexcept {
        const auto& slot = slots_[place_of(number)];
        return is_empty(slot) ? nullptr : &slot;
    }

    /// Returns false if the store is full or the number exists.
    [[nodiscard]] bool put(const Order& order) noexcept;
    /// The slot for a new order of this number; null if the order exists. Valid until the next put or erase.
    [[nodiscard]] Order* vacancy(std::uint64_t number) noexcept {
        auto& slot = slots_[place_of(number)];
        return is_empty(slot) ? &slot : nullptr;
    }
    /// Stores an order in the vacancy of its number. The store must not be full.
    void fill(Order* vacancy, const Order& order) noexcept {
        *vacancy = order;
        vacancy->generation = generation_;
        ++size_;
    }

    /// Removes an order. order: a result of find.
    void erase(Order* order) noexcept;

    /// Removes all orders. O(1): the new generation voids the slots.
    void clear() noexcept {
        ++generation_;
        size_ = 0;
    }

    /// Visits all orders in parts: calls visit(order) for the orders in the last `most` of the first `left` slots.
    /// left: slots() for the first part, then the result of the part before, until that is 0. Orders may be added and
    /// removed between the parts: one that stays meanwhile is visited, perhaps twice; one that is removed and put again
    /// may be in slots that were visited before. Not with try_grow.
    template <class Visitor>
    [[nodiscard]] std::size_t visit(std::size_t left, std::size_t most, Visitor&& visitor) const {
        // Deletion moves orders to lower slots only, which follow, except from the first slots to the last ones.
        for (std::size_t i = 0; left == slots_.size() && !is_empty(slots_[i]); ++i) visitor(slots_[i]);
        const auto end = left - std::min(left, most);
        while (left != end) {
            if (!is_empty(slots_[--left])) visitor(slots_[left]);
        }
        return left;
    }
    [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }

    /// Grows to a capacity of `capacity` orders, which moves them. Returns false, with nothing changed, if the capacity
    /// is above 2^28 or there is no memory. O(capacity), and it allocates: for readers of files, not for receive paths.
    [[nodiscard]] bool try_grow(std::size_t capacity) noexcept;

    /// Prefetches the order's slot.
    void prefetch(std::uint64_t number) const noexcept {
        const auto& home = slots_[home_of(number)];
        core::prefetch_for_write(&home);
        // One order in four spans two cache lines, and a deletion reads the following slots.
        core::prefetch_for_write(reinterpret_cast<const std::byte*>(&home) + core::kCacheLine);
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

private:
    static constexpr std::size_t kMinSlots = 16;

    [[nodiscard]] static std::size_t checked(std::size_t capacity);
    [[nodiscard]] static std::size_t slots_for(std::size_t capacity) noexcept {
        return std::bit_ceil(std::max(capacity * 2, kMinSlots));
    }
    [[nodiscard]] static int shift_of(std::size_t mask) noexcept { return 64 + 3 - std::countr_one(mask); }
    [[nodiscard]] bool is_empty(const Order& slot) const noexcept { return slot.generation != generation_; }
    [[nodiscard]] std::size_t home_of(std::uint64_t number) const noexcept {
        // Fibonacci hashing of runs of eight: venues count up, so orders that arrive together are stored together.
        constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
        return static_cast<std::size_t>(((number >> 3) * kOdd >> shift_) << 3 | (number & 7));
    }
    [[nodiscard]] std::size_t place_of(std::uint64_t number) const noexcept {
        auto place = home_of(number);
        while (!is_empty(slots_[place]) && slots_[place].number != number) place = (place + 1) & mask_;
        return place;
    }

    std::size_t capacity_;
    std::size_t size_{0};
    std::size_t mask_;
    int shift_;
    std::uint32_t generation_{1};
    std::pmr::vector<Order> slots_;
};

inline std::size_t OrderStore::checked(std::size_t capacity) {
    constexpr std::size_t kMax = std::size_t{1} << 28;
    if (capacity == 0 || capacity > kMax) {
        throw std::invalid_argument("order store: capacity " + std::to_string(capacity) + " is not in 1.." +
                                    std::to_string(kMax));
    }
    return capacity;
}

inline OrderStore::OrderStore(std::size_t capacity, std::pmr::memory_resource* memory)
    : capacity_(checked(capacity)),
      mask_(slots_for(capacity) - 1),
      shift_(shift_of(mask_)),
      slots_(mask_ + 1, Order{}, memory) {}

inline bool OrderStore::put(const Order& order) noexcept {
    if (size_ == capacity_) return false;
    auto* const slot = vacancy(order.number);
    if (slot == nullptr) return false;
    fill(slot, order);
    return true;
}

inline bool OrderStore::try_grow(std::size_t capacity) noexcept {
    if (capacity <= capacity_) return true;
    try {
        std::pmr::vector<Order> before(slots_for(checked(capacity)), Order{}, slots_.get_allocator());
        before.swap(slots_);
        capacity_ = capacity;
        mask_ = slots_.size() - 1;
        shift_ = shift_of(mask_);
        for (const auto& order : before) {
            if (!is_empty(order)) slots_[place_of(order.number)] = order;
        }
        return true;
    } catch (const std::exception&) {  // std::bad_alloc, or thrown by `checked`
        return false;
    }
}

inline void OrderStore::erase(Order* order) noexcept {
    auto gap = static_cast<std::size_t>(order - slots_.data());
    for (auto next = gap;;) {
        next = (next + 1) & mask_;
        if (is_empty(slots_[next])) break;
        // The next order may fill the gap unless its home lies between the gap and itself.
        if (((next - home_of(slots_[next].number)) & mask_) >= ((next - gap) & mask_)) {
            slots_[gap] = slots_[next];
            gap = next;
        }
    }
    slots_[gap].generation = 0;
    --size_;
}

}  // namespace millpond::feed
