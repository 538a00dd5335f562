#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/moment.hpp>
#include <millpond/fix/file_store.hpp>

namespace millpond::engine {

/// Slow work that a StoreKeeper does again and again.
class Maintained {
public:
    virtual void maintain(core::Moment now) noexcept = 0;

protected:
    ~Maintained() = default;
};

/// Runs FileStore::maintain and other slow work on a separate thread that starts with the first of them. Failures are
/// retried.
///
/// Threads: any.
class StoreKeeper {
public:
    StoreKeeper();
    ~StoreKeeper();
    StoreKeeper(const StoreKeeper&) = delete;
    StoreKeeper& operator=(const StoreKeeper&) = delete;

    void keep(fix::FileStore& store);
    void keep(Maintained& work);
    /// Removes a store or other work; it is no longer used when this returns.
    void forget(const fix::FileStore& store);
    void forget(const Maintained& work);
    /// Begins the next round now. Never waits; makes one system call.
    void hurry() noexcept;

private:
    void start();
    void run();

    core::Descriptor event_;  // an eventfd; none: the thread only keeps its pace
    std::mutex lock_;
    std::vector<fix::FileStore*> stores_;
    std::vector<Maintained*> works_;
    bool stopping_{false};
    std::thread thread_;
};

}  // namespace millpond::engine
