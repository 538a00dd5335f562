// A session that only sends and receives session messages holds little memory. Its first application message makes the
// rest present, and the end of its connection returns it.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <unistd.h>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/support/resident_memory.hpp"

namespace millpond::engine {
namespace {

constexpr std::size_t kSessions = 12;
constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kIdleBytes = std::size_t{256} * 1024;

/// An acceptor's sessions, all with the same kind of store, and their clients.
class Sessions {
public:
    explicit Sessions(bool in_files)
        : folder_(std::filesystem::temp_directory_path() / ("millpond-session-memory-" + std::to_string(::getpid()))),
          in_files_(in_files) {
        std::filesystem::create_directories(folder_);
        add_and_log_on();  // the first one brings code and tables along
        if (!trade(0)) return;
        leave();
        before_ = test::resident_bytes();
        for (std::size_t i = 1; i <= kSessions; ++i) add();
    }
    Sessions(const Sessions&) = delete;
    Sessions& operator=(const Sessions&) = delete;
    ~Sessions() { std::filesystem::remove_all(folder_); }

    void add() {
        const auto name = "P" + std::to_string(handles_.size());
        StoreOptions store{.bytes = 8 * kMiB, .segments = 0};
        if (in_files_) store.file = folder_ / name;
        handles_.push_back(&acceptor_.add(
            {.config = {.sender_comp_id = "HOUSE", .target_comp_id = name}, .dictionary = &dictionary_, .store = store},
            house_));
    }
    void add_and_log_on() {
        add();
        log_on(0);
    }
    void log_on(std::size_t i) {
        clients_.emplace_back(acceptor_.port());
        const auto logons = house_.logons;
        clients_.back().send(message("FIX.4.4", "A", 1, name(i), "98=0|108=3600|141=Y|"));
        EXPECT_TRUE(run_until(io_, [&] { return house_.logons == logons + 1; }));
    }
    void log_all_on() {
        for (std::size_t i = 1; i <= kSessions; ++i) log_on(i);
    }
    /// TestRequests, which are answered by Heartbeats.
    void beat(int times) {
        for (int beat = 0; beat < times; ++beat) {
            for (std::size_t i = 1; i <= kSessions; ++i) {
                clients_[i - 1].send(message("FIX.4.4", "1", 2 + beat, name(i), "112=HI|"));
            }
            const auto sent = static_cast<std::uint64_t>(beat) + 2;
            EXPECT_TRUE(run_until(io_, [&] {
                return std::ranges::all_of(handles_.begin() + 1, handles_.end(),
                                           [&](auto* one) { return one->status().sent >= sent; });
            }));
        }
    }
    /// The session receives an order, and all of its memory is present.
    [[nodiscard]] bool trade(std::size_t i, int number = 2) {
        auto& client = clients_[i == 0 ? 0 : i - 1];
        client.send(message("FIX.4.4", "D", number, name(i), "11=1|"));
        return run_until(io_, [&] { return handles_[i]->status().memory_present; });
    }
    void leave() {
        clients_.clear();
        EXPECT_TRUE(run_until(io_, [&] {
            return std::ranges::all_of(handles_, [](auto* one) {
                const auto status = one->status();
                return status.state == fix::Session::State::disconnected && !status.memory_present;
            });
        }));
    }
    /// Memory of a session since the first one, on average.
    [[nodiscard]] std::size_t bytes_each() const {
        return (std::max(test::resident_bytes(), before_) - before_) / kSessions;
    }

private:
    [[nodiscard]] static std::string name(std::size_t i) { return "P" + std::to_string(i); }

    std::filesystem::path folder_;
    bool in_files_;
    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house_;
    IoThread io_;
    Acceptor acceptor_{io_, {}};
    std::vector<SessionHandle*> handles_;
    std::vector<RawClient> clients_;
    std::size_t before_{0};
};

void expect_little_memory_while_idle(bool in_files) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "sanitizers keep shadow memory";
#endif
    Sessions sessions{in_files};
    EXPECT_LE(sessions.bytes_each(), kIdleBytes) << "never connected";
    sessions.log_all_on();
    sessions.beat(20);
    EXPECT_LE(sessions.bytes_each(), kIdleBytes) << "logged on, with heartbeats";
    for (std::size_t i = 1; i <= kSessions; ++i) ASSERT_TRUE(sessions.trade(i, 22)) << i;
    EXPECT_GE(sessions.bytes_each(), 4 * kMiB) << "trading";
    sessions.leave();
    // Messages in memory stay there.
    if (in_files) EXPECT_LE(sessions.bytes_each(), kIdleBytes) << "disconnected again";
}

TEST(EngineSessionMemory, AnIdleSessionWithItsStoreInFilesHoldsLittle) { expect_little_memory_while_idle(true); }

TEST(EngineSessionMemory, AnIdleSessionWithItsStoreInMemoryHoldsLittle) { expect_little_memory_while_idle(false); }

}  // namespace
}  // namespace millpond::engine
