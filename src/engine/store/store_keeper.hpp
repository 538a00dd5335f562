#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <millpond/fix/file_store.hpp>

namespace millpond::engine {

/// Runs FileStore::maintain, which is slow, on a separate thread that starts with the first store. Failures are
/// retried.
///
/// Threads: any.
class StoreKeeper {
public:
    StoreKeeper() = default;
    ~StoreKeeper();
    StoreKeeper(const StoreKeeper&) = delete;
    StoreKeeper& operator=(const StoreKeeper&) = delete;

    void keep(fix::FileStore& store);
    /// Removes a store; it is no longer used when this returns.
    void forget(const fix::FileStore& store);

private:
    void run();

    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<fix::FileStore*> stores_;
    bool stopping_{false};
    std::thread thread_;
};

}  // namespace millpond::engine
