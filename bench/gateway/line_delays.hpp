#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

#include <millpond/core/clock.hpp>

namespace millpond::bench {

/// Send times of lines in one process, and the delays until each of many clients in another process had them.
///
/// Threads: constructed before the fork; one thread sends, one thread of the other process receives.
/// Memory:  5 MiB, shared by both processes.
class LineDelays {
public:
    LineDelays() {
        auto* const at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::runtime_error("no memory for the delays");
        shared_ = new (at) Shared;
    }
    LineDelays(const LineDelays&) = delete;
    LineDelays& operator=(const LineDelays&) = delete;
    ~LineDelays() { munmap(shared_, sizeof(Shared)); }

    void clear() { shared_->count.store(0); }
    /// Records that the line of this number is sent next.
    void sends(std::size_t line) { shared_->sent.at(line).store(core::monotonic_nanos()); }
    /// Records that a client has the line of this number.
    void received(std::size_t line, std::int64_t now) {
        const auto count = shared_->count.load();
        shared_->micros.at(count) = static_cast<float>(now - shared_->sent.at(line).load()) / 1e3F;
        shared_->count.store(count + 1);
    }
    /// Delays in microseconds of all clients and lines since clear().
    [[nodiscard]] std::vector<float> all() const {
        const auto* const begin = shared_->micros.data();
        return {begin, begin + shared_->count.load()};
    }

private:
    struct Shared {
        std::array<std::atomic<std::int64_t>, 1U << 14U> sent;
        std::atomic<std::size_t> count;
        std::array<float, 1U << 20U> micros;
    };
    Shared* shared_;
};

}  // namespace millpond::bench
