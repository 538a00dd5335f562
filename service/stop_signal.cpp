#include "service/stop_signal.hpp"

#include <csignal>
#include <cstdint>

#include <millpond/core/clock.hpp>

namespace millpond::service {
namespace {

constexpr std::int64_t kRepeatNs = 1'000'000'000;

std::atomic<bool> stop{false};
std::atomic<bool> reload{false};
std::atomic<std::int64_t> stopped_ns{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler sets them");

extern "C" void note_stop(int number) {
    const auto now = core::monotonic_nanos();
    if (!stop.exchange(true, std::memory_order_relaxed)) {
        stopped_ns.store(now, std::memory_order_relaxed);
    } else if (now - stopped_ns.load(std::memory_order_relaxed) > kRepeatNs) {
        std::signal(number, SIG_DFL);
        std::raise(number);
    }
}

extern "C" void note_reload(int) { reload.store(true, std::memory_order_relaxed); }

void handle(int number, void (*handler)(int)) {
    struct sigaction action{};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
}

}  // namespace

const std::atomic<bool>& stop_on_signal() {
    for (const int number : {SIGINT, SIGTERM}) handle(number, note_stop);
    return stop;
}

void stop_on_hang_up() { handle(SIGHUP, note_stop); }

std::atomic<bool>& reload_on_signal() {
    handle(SIGHUP, note_reload);
    return reload;
}

}  // namespace millpond::service
