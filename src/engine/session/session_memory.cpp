#include "src/engine/session/session_memory.hpp"

#include <system_error>

namespace millpond::engine {
namespace {

constexpr std::int64_t kRetryNanos = 1'000'000'000;  // while memory is short

}  // namespace

void SessionMemory::begin_busy() noexcept {
    busy_ = true;
    store_->set_busy(true);
    wanted_.store(true, std::memory_order_release);  // sync "store busy": maintain
    // The only system call of a message beside its own: later ones find all memory present.
    if (auto* const keeper = keeper_.load(std::memory_order_acquire)) keeper->hurry();  // sync "keeper known"
}

void SessionMemory::end_busy() noexcept {
    if (!busy_) return;
    busy_ = false;
    store_->set_busy(false);
    wanted_.store(false, std::memory_order_relaxed);
    session_->give_back();
    input_->give_back();
    output_->give_back();
}

void SessionMemory::maintain(core::Moment now) noexcept {
    const bool wanted = wanted_.load(std::memory_order_acquire);  // sync "store busy": begin_busy
    const bool is_due = wanted && !present_ && now.monotonic_ns >= retry_ns_;
    try {
        if (is_due) input_->make_present();
        // A failure costs history or page faults only, and the next round tries again.
        const auto error = store_->maintain(now);
        if (is_due) {
            output_->make_present();
            session_->make_present();
        }
        present_ = wanted && (present_ || (is_due && !error));
    } catch (const std::system_error&) {
        retry_ns_ = now.monotonic_ns + kRetryNanos;
    }
    gauges_->memory_present.store(present_, std::memory_order_relaxed);
}

}  // namespace millpond::engine
