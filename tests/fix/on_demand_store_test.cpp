#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <unistd.h>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/message_store.hpp>

#include "tests/fix/store_folder.hpp"
#include "tests/support/page_fault_counter.hpp"
#include "tests/support/resident_memory.hpp"

// Stores with Prefault::ahead, of which only the memory of the next messages is present while they are not busy.
namespace millpond::fix {
namespace {

using test::resident_bytes;

constexpr std::size_t kKiB = 1024;
const FileStore::Options kOnDemand{.data_bytes = std::size_t{64} << 20U, .segments = 0, .prefault = Prefault::ahead};
const std::string kHeartbeat(90, 'h');
const std::string kMessage(200, 'd');

/// Runs `maintain` on a thread that exists all the time, so that its start causes no fault of the caller.
class Maintainer {
public:
    explicit Maintainer(MessageStore& store)
        : thread_([this, &store] {
              for (unsigned done = 0;; ++done) {
                  asked_.wait(done);
                  if (over_) return;
                  failed_ = failed_ || store.maintain({});
                  done_.store(done + 1);
                  done_.notify_one();
              }
          }) {}
    Maintainer(const Maintainer&) = delete;
    Maintainer& operator=(const Maintainer&) = delete;
    ~Maintainer() {
        over_ = true;
        ++asked_;
        asked_.notify_one();
        thread_.join();
    }
    void run_once() {
        const auto round = ++asked_;
        asked_.notify_one();
        while (done_.load() != round) std::this_thread::yield();
    }
    [[nodiscard]] bool failed() const { return failed_; }

private:
    std::atomic<unsigned> asked_{0};
    std::atomic<unsigned> done_{0};
    std::atomic<bool> over_{false};
    std::atomic<bool> failed_{false};
    std::thread thread_;
};

void send(MessageStore& store, const std::string& message, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_TRUE(store.store(message));
        store.mark_written(store.next_sender() - 1);
    }
}

/// In memory if the machine has such a folder: a disk's pages fault again once the kernel has written them.
std::filesystem::path memory_folder() {
    const std::filesystem::path shared{"/dev/shm"};
    return std::filesystem::is_directory(shared) ? shared : std::filesystem::temp_directory_path();
}

/// Sends `each` messages between two rounds of the other thread, and returns this thread's page faults.
std::uint64_t faults_of(MessageStore& store, std::uint64_t each, std::uint64_t rounds) {
    Maintainer other{store};
    other.run_once();
    // The code is mapped by its first call, into a store that is present.
    MemoryStore warm{0, ByteCount{64 * kKiB}};
    send(warm, kMessage, 2);
    const test::PageFaultCounter faults;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        send(store, kMessage, each);
        other.run_once();
    }
    const auto counted = faults.faults();
    EXPECT_FALSE(other.failed());
    EXPECT_EQ(store.retrieve(store.next_sender() - 1), kMessage);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return counted * 0;
#else
    return counted;
#endif
}

TEST_F(FileStoreTest, AnIdleOnDemandStoreHoldsLittleMemory) {
    constexpr auto kLittle = 128 * kKiB;
    {
        FileStore store{path(), 0, kOnDemand};
        EXPECT_LE(resident_bytes(path().string()), kLittle);
        for (int i = 0; i < 300; ++i) {
            send(store, kHeartbeat, 1);
            ASSERT_FALSE(store.maintain({}));
        }
        EXPECT_LE(resident_bytes(path().string()), kLittle);
    }
    FileStore store{path(), 0, kOnDemand};
    EXPECT_LE(resident_bytes(path().string()), kLittle);
    EXPECT_EQ(store.retrieve(300), kHeartbeat);
    // A reset reads the whole index.
    store.reset(7);
    ASSERT_FALSE(store.maintain({}));
    EXPECT_LE(resident_bytes(path().string()), kLittle);
}

TEST_F(FileStoreTest, ABusyOnDemandStoreHasAllItsMemoryAndReturnsItAfterwards) {
    FileStore store{path(), 0, kOnDemand};
    store.set_busy(true);
    ASSERT_FALSE(store.maintain({}));
    EXPECT_GE(resident_bytes(path().string()), std::size_t{3} << 20U);  // 1 MiB and the prepared segment of 2
    for (int i = 0; i < 200; ++i) {
        send(store, kMessage, 100);
        ASSERT_FALSE(store.maintain({}));
    }
    EXPECT_GE(resident_bytes(path().string()), std::size_t{7} << 20U);
    store.set_busy(false);
    ASSERT_FALSE(store.maintain({}));
    EXPECT_LE(resident_bytes(path().string()), 128 * kKiB);
    for (std::uint64_t i = 1; i <= 20'000; ++i) ASSERT_EQ(store.retrieve(i), kMessage) << i;
    ASSERT_FALSE(store.maintain({.monotonic_ns = 10}));
    ASSERT_FALSE(store.maintain({.monotonic_ns = 2'000'000'000}));  // no read for a second
    EXPECT_LE(resident_bytes(path().string()), std::size_t{3} << 20U);
    store.set_busy(true);
    ASSERT_FALSE(store.maintain({}));
    EXPECT_GE(resident_bytes(path().string()), std::size_t{7} << 20U);
    send(store, kMessage, 1);
    EXPECT_EQ(store.retrieve(20'001), kMessage);
}

TEST_F(FileStoreTest, TenThousandMessagesOfAnOnDemandStoreCauseNoPageFault) {
    const auto folder = memory_folder() / ("millpond-on-demand-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    {
        FileStore slow{folder / "slow", 0, kOnDemand};
        EXPECT_EQ(faults_of(slow, 50, 200), 0U);  // its window moves
        FileStore fast{folder / "fast", 0, kOnDemand};
        EXPECT_EQ(faults_of(fast, 250, 40), 0U);  // faster than its window
        FileStore busy{folder / "busy", 0, kOnDemand};
        busy.set_busy(true);
        EXPECT_EQ(faults_of(busy, 1'000, 10), 0U);
        FileStore ring{folder / "ring", 0, {.data_bytes = 512 * kKiB, .segments = 1, .prefault = Prefault::ahead}};
        EXPECT_EQ(faults_of(ring, 50, 200), 0U);  // around the ring several times
    }
    std::filesystem::remove_all(folder);
}

TEST_F(FileStoreTest, AnOnDemandStoreOfTheNextProcessCausesNoPageFault) {
    const auto folder = memory_folder() / ("millpond-on-demand-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    for (int run = 0; run < 4; ++run) {
        FileStore store{folder / "again", 0, kOnDemand};
        EXPECT_EQ(faults_of(store, 40, 60), 0U) << run;
        EXPECT_EQ(store.retrieve(1), kMessage);
    }
    std::filesystem::remove_all(folder);
}

TEST(MemoryStore, MessagesOfAnOnDemandStoreCauseNoPageFault) {
    MemoryStore slow{0, ByteCount{std::size_t{8} << 20U}, Prefault::ahead};
    EXPECT_EQ(faults_of(slow, 50, 200), 0U);
    MemoryStore fast{0, ByteCount{std::size_t{8} << 20U}, Prefault::ahead};
    EXPECT_EQ(faults_of(fast, 250, 40), 0U);
    MemoryStore all{0, ByteCount{std::size_t{8} << 20U}, Prefault::all};
    EXPECT_EQ(faults_of(all, 10'000, 1), 0U);
}

TEST(MemoryStore, AnIdleOnDemandStoreHoldsLittleMemory) {
    constexpr std::size_t kStores = 8;
    std::vector<std::unique_ptr<MemoryStore>> stores;
    stores.reserve(kStores);
    const auto before = resident_bytes();
    for (std::size_t i = 0; i < kStores; ++i) {
        stores.push_back(std::make_unique<MemoryStore>(0, ByteCount{std::size_t{8} << 20U}, Prefault::ahead));
        for (int beat = 0; beat < 100; ++beat) {
            send(*stores.back(), kHeartbeat, 1);
            ASSERT_FALSE(stores.back()->maintain({}));
        }
    }
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    EXPECT_LE(resident_bytes() - before, kStores * 128 * kKiB);
#endif
    stores.front()->set_busy(true);
    ASSERT_FALSE(stores.front()->maintain({}));
    EXPECT_GE(resident_bytes() - before, std::size_t{9} << 20U);
}

}  // namespace
}  // namespace millpond::fix
