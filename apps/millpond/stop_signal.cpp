#include "apps/millpond/stop_signal.hpp"

#include <csignal>

namespace millpond::app {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

extern "C" void note_stop(int) { stop.store(true, std::memory_order_relaxed); }

}  // namespace

const std::atomic<bool>& stop_on_signal() {
    struct sigaction action{};
    action.sa_handler = note_stop;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
    return stop;
}

}  // namespace millpond::app
