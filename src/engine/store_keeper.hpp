#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <millpond/fix/file_store.hpp>

namespace millpond::engine {

/// Does what stores in files need time for (FileStore::maintain) on a thread of its own, which runs from the first
/// store on. What fails is tried again.
///
/// Threads: any.
class StoreKeeper {
public:
    StoreKeeper() = default;
    ~StoreKeeper();
    StoreKeeper(const StoreKeeper&) = delete;
    StoreKeeper& operator=(const StoreKeeper&) = delete;

    void keep(fix::FileStore& store);
    /// When it returns the store is not used any more.
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
