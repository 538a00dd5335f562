#pragma once

#include <atomic>
#include <cstdint>

namespace millpond::core {

/// Counter that one thread writes and any thread reads.
///
/// Threads: add and set on the owner's thread only; read on any. `add` is a load and a store, not a read-modify-write.
class Tally {
public:
    void add(std::uint64_t n = 1) noexcept { set(read() + n); }
    void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace millpond::core
