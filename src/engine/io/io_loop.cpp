#include "src/engine/io/io_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/engine/io/socket_warmer.hpp"

namespace millpond::engine {
namespace {

constexpr int kEventsAtOnce = 64;
// A spinning thread with few connections reads them directly, and calls epoll only occasionally.
constexpr std::size_t kReadDirectlyUpTo = 4;
constexpr std::uint64_t kRoundsBetweenEpoll = 64;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::system_category(), what); }

}  // namespace

IoLoop::IoLoop(core::Poll poll) : poll_(poll), idle_(poll) {
    epoll_ = core::Descriptor{::epoll_create1(EPOLL_CLOEXEC)};
    if (!epoll_) fail("an I/O thread's epoll");
    event_ = core::Descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
    if (!event_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event_.get(), &event) != 0) fail("an I/O thread's eventfd");
}

IoLoop::~IoLoop() { retired_.clear(); }  // their destructors use the loop

void IoLoop::post(std::function<void()> work) {
    {
        const std::lock_guard guard{posted_lock_};
        posted_.push_back(std::move(work));
        has_posted_.store(true, std::memory_order_seq_cst);
    }
    wake_if_asleep();
}

void IoLoop::begin_drain(std::int64_t deadline_ns) {
    const auto now = clock_.now();
    for (std::size_t slot = 0; slot < participants_.size(); ++slot) {
        if (participants_[slot] == nullptr) continue;
        participants_[slot]->on_drain(now, deadline_ns);
        wants_timer(slot, participants_[slot]->on_timer(now));
    }
}

bool IoLoop::drained() const noexcept {
    return std::ranges::all_of(participants_, [](const auto* one) { return one == nullptr || one->drained(); });
}

std::size_t IoLoop::join(Participant& participant) {
    auto free = std::ranges::find(participants_, nullptr);
    if (free == participants_.end()) {
        if (participants_.size() == ReadySet::kNumbers) {
            throw std::length_error("an I/O thread can have at most " + std::to_string(ReadySet::kNumbers) +
                                    " sessions and listeners");
        }
        participants_.push_back(nullptr);
        deadlines_.push_back(core::kNever);
        free = participants_.end() - 1;
    }
    *free = &participant;
    return static_cast<std::size_t>(free - participants_.begin());
}

void IoLoop::leave(std::size_t slot) noexcept {
    participants_[slot] = nullptr;
    deadlines_[slot] = core::kNever;
}

void IoLoop::wants_timer(std::size_t slot, std::int64_t monotonic_ns) noexcept {
    deadlines_[slot] = monotonic_ns;
    next_deadline_ = std::min(next_deadline_, monotonic_ns);
}

void IoLoop::watch(int descriptor, std::uint32_t events, Watcher& watcher, bool read_directly) {
    epoll_event event{.events = events, .data = {.ptr = &watcher}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) fail("an I/O thread cannot watch a socket");
    if (read_directly) direct_.push_back(&watcher);
}

void IoLoop::change(int descriptor, std::uint32_t events, Watcher& watcher) noexcept {
    epoll_event event{.events = events, .data = {.ptr = &watcher}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

void IoLoop::unwatch(int descriptor, Watcher& watcher) noexcept {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    std::erase(direct_, &watcher);
}

void IoLoop::prepare_warm_ups() {
    if (warmer_ == nullptr) warmer_ = std::make_unique<SocketWarmer>();
}

void IoLoop::warm_up_socket(core::Moment now) noexcept {
    if (warmer_ != nullptr) warmer_->touch(now);
}

void IoLoop::wake_if_asleep() noexcept {
    // The thread that changes it makes the system call; work of other threads is seen in the same round.
    if (!asleep_.load(std::memory_order_seq_cst) || !asleep_.exchange(false, std::memory_order_seq_cst)) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

void IoLoop::round(std::int64_t max_wait_ns) {
    counters_.rounds.add();
    const auto now = clock_.now();
    bool worked = run_posted();
    worked = run_ready(now) || worked;
    const bool directly = poll_ == core::Poll::spin && direct_.size() <= kReadDirectlyUpTo;
    if (directly) read_directly(now);
    if (now.monotonic_ns >= next_deadline_) run_timers(now);
    if (!directly || counters_.rounds.read() % kRoundsBetweenEpoll == 0) {
        const bool may_sleep = poll_ != core::Poll::spin && !worked;
        const auto wait = may_sleep && idle_.pause()
                              ? std::clamp<std::int64_t>(next_deadline_ - now.monotonic_ns, 0, max_wait_ns)
                              : std::int64_t{0};
        if (wait_for_events(wait) || worked) idle_.worked();
    }
    retired_.clear();
}

bool IoLoop::run_posted() {
    if (ran_ == running_.size()) {
        if (!has_posted_.load(std::memory_order_relaxed)) return false;
        running_.clear();
        ran_ = 0;
        const std::lock_guard guard{posted_lock_};
        running_.swap(posted_);
        has_posted_.store(false, std::memory_order_relaxed);
    }
    // If work throws, it counts as done; the rest is left for the next round.
    while (ran_ < running_.size()) {
        const auto work = std::move(running_[ran_++]);
        work();
    }
    return true;
}

bool IoLoop::run_ready(core::Moment now) {
    try {
        return ready_.drain([&](std::size_t slot) {
            if (slot < participants_.size() && participants_[slot] != nullptr) participants_[slot]->on_signal(now);
        });
    } catch (...) {
        // The remaining ones are unknown; extra signals do no harm.
        for (std::size_t slot = 0; slot < participants_.size(); ++slot) ready_.signal(slot);
        throw;
    }
}

void IoLoop::run_timers(core::Moment now) {
    // on_timer may request an earlier time meanwhile.
    next_deadline_ = core::kNever;
    try {
        for (std::size_t slot = 0; slot < participants_.size(); ++slot) {
            if (participants_[slot] == nullptr) continue;
            if (deadlines_[slot] <= now.monotonic_ns) deadlines_[slot] = participants_[slot]->on_timer(now);
            next_deadline_ = std::min(next_deadline_, deadlines_[slot]);
        }
    } catch (...) {
        next_deadline_ = 0;
        throw;
    }
}

void IoLoop::read_directly(core::Moment now) {
    // A watcher may leave the list during its call.
    for (std::size_t i = 0; i < direct_.size(); ++i) direct_[i]->on_ready(EPOLLIN, now);
}

bool IoLoop::wait_for_events(std::int64_t wait_ns) {
    std::array<epoll_event, kEventsAtOnce> events;
    int timeout_ms = 0;
    if (wait_ns > 0) {
        asleep_.store(true, std::memory_order_seq_cst);
        // Work that was posted earlier did not wake the thread; later work does.
        if (ready_.any() || has_posted_.load(std::memory_order_seq_cst)) {
            asleep_.store(false, std::memory_order_seq_cst);
        } else {
            // Rounded up: a wait that ends before the deadline would be followed by an empty round.
            timeout_ms = static_cast<int>((wait_ns + 999'999) / 1'000'000);
            counters_.sleeps.add();
        }
    }
    const auto ready = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, timeout_ms);
    if (timeout_ms != 0) asleep_.store(false, std::memory_order_seq_cst);
    if (ready <= 0) return false;
    const auto now = clock_.now();
    for (int i = 0; i < ready; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        auto* const watcher = static_cast<Watcher*>(event.data.ptr);
        if (watcher != nullptr) {
            watcher->on_ready(event.events, now);
            continue;
        }
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
        counters_.wakes.add();
    }
    // Run work that was signalled during the sleep, without the delay of another round.
    run_ready(now);
    return true;
}

}  // namespace millpond::engine
