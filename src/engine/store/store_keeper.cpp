#include "src/engine/store/store_keeper.hpp"

#include <algorithm>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <millpond/core/moment.hpp>
#include <millpond/core/thread_name.hpp>

namespace millpond::engine {
namespace {

constexpr int kPaceMillis = 20;

}  // namespace

StoreKeeper::StoreKeeper() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

StoreKeeper::~StoreKeeper() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard guard{lock_};
        stopping_ = true;
    }
    hurry();
    thread_.join();
}

void StoreKeeper::start() {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void StoreKeeper::keep(fix::FileStore& store) {
    const std::lock_guard guard{lock_};
    stores_.push_back(&store);
    start();
}

void StoreKeeper::keep(Maintained& work) {
    const std::lock_guard guard{lock_};
    works_.push_back(&work);
    start();
}

void StoreKeeper::forget(const fix::FileStore& store) {
    const std::lock_guard guard{lock_};
    std::erase(stores_, &store);
}

void StoreKeeper::forget(const Maintained& work) {
    const std::lock_guard guard{lock_};
    std::erase(works_, &work);
}

void StoreKeeper::hurry() noexcept {
    constexpr std::uint64_t kOne = 1;
    [[maybe_unused]] const auto written = ::write(event_.get(), &kOne, sizeof kOne);
}

void StoreKeeper::run() {
    core::name_this_thread("stores");
    std::unique_lock guard{lock_};
    core::MomentClock clock;
    while (!stopping_) {
        for (auto* store : stores_) {
            // A failure costs only history, and the next round tries again.
            [[maybe_unused]] const auto error = store->maintain(clock.now());
        }
        for (auto* work : works_) work->maintain(clock.now());
        guard.unlock();
        pollfd event{.fd = event_.get(), .events = POLLIN, .revents = 0};
        ::poll(&event, 1, kPaceMillis);
        std::uint64_t ignored = 0;
        [[maybe_unused]] const auto read = ::read(event_.get(), &ignored, sizeof ignored);
        guard.lock();
    }
}

}  // namespace millpond::engine
