#include "src/engine/store/store_keeper.hpp"

#include <algorithm>
#include <chrono>

#include <millpond/core/moment.hpp>
#include <millpond/core/thread_name.hpp>

namespace millpond::engine {
namespace {

constexpr std::chrono::milliseconds kPace{20};

}  // namespace

StoreKeeper::~StoreKeeper() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard guard{lock_};
        stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void StoreKeeper::keep(fix::FileStore& store) {
    const std::lock_guard guard{lock_};
    stores_.push_back(&store);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void StoreKeeper::forget(const fix::FileStore& store) {
    const std::lock_guard guard{lock_};
    std::erase(stores_, &store);
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
        changed_.wait_for(guard, kPace);
    }
}

}  // namespace millpond::engine
