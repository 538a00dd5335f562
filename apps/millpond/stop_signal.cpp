#include "apps/millpond/stop_signal.hpp"

#include <csignal>
#include <cstdint>

#include <millpond/core/clock.hpp>

namespace millpond::app {
namespace {

constexpr std::int64_t kPatienceNs = 1'000'000'000;

std::atomic<bool> stop{false};
std::atomic<bool> reload{false};
std::atomic<std::int64_t> stopped_ns{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler sets them");

extern "C" void note_stop(int number) {
    const auto now = core::monotonic_nanos();
    if (!stop.exchange(true, std::memory_order_relaxed)) {
        stopped_ns.store(now, std::memory_order_relaxed);
    } else if (now - stopped_ns.load(std::memory_order_relaxed) > kPatienceNs) {
        std::signal(number, SIG_DFL);
        std::raise(number);
    }
}

extern "C" void note_reload(int) { reload.store(true, std::memory_order_relaxed); }

}  // namespace

std::atomic<bool>& reload_on_signal() {
    struct sigaction action{};
    action.sa_handler = note_reload;
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, nullptr);
    return reload;
}

const std::atomic<bool>& stop_on_signal() {
    struct sigaction action{};
    action.sa_handler = note_stop;
    sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
    return stop;
}

}  // namespace millpond::app
