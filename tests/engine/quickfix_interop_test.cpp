// Sessions of millpond and QuickFIX, each in its own process, which is killed while both send.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "bench/rivals/free_port.hpp"

namespace millpond::engine {
namespace {

constexpr std::uint64_t kOrders = 2'500;

class Side {
public:
    Side(std::string side, std::string role, std::uint16_t port, const std::filesystem::path& root)
        : words_{MILLPOND_INTEROP_PROGRAM, side, std::move(role), std::to_string(port), (root / side).string(),
                 std::to_string(kOrders)},
          folder_(root / side) {
        std::filesystem::create_directories(folder_);
        start();
    }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side() { kill_now(); }

    void start() {
        std::vector<char*> arguments;
        for (auto& word : words_) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        ASSERT_EQ(::posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ), 0);
    }
    void kill_now() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

    struct Line {
        std::string type;
        std::uint64_t id{0};
        std::uint64_t number{0};
        int poss_dup{0};
    };
    [[nodiscard]] std::vector<Line> received() const {
        std::vector<Line> lines;
        std::ifstream file{folder_ / "received"};
        for (Line line; file >> line.type >> line.id >> line.number >> line.poss_dup;) lines.push_back(line);
        return lines;
    }
    [[nodiscard]] std::size_t different_orders() const {
        std::set<std::uint64_t> ids;
        for (const auto& line : received()) ids.insert(line.id);
        return ids.size();
    }

private:
    std::vector<std::string> words_;
    std::filesystem::path folder_;
    pid_t pid_{0};
};

void expect_every_order(const Side& side) {
    std::map<std::uint64_t, std::uint64_t> number_of;
    std::uint64_t last = 0;
    std::size_t redelivered = 0;
    for (const auto& line : side.received()) {
        EXPECT_EQ(line.type, "D");
        const auto [known, is_new] = number_of.emplace(line.id, line.number);
        if (is_new) {
            EXPECT_EQ(line.id, last + 1) << "out of order";
            last = line.id;
            continue;
        }
        ++redelivered;
        EXPECT_EQ(line.poss_dup, 1) << "order " << line.id << " came twice without PossDupFlag";
        EXPECT_EQ(line.number, known->second) << "order " << line.id << " came again under another number";
    }
    EXPECT_EQ(number_of.size(), kOrders);
    testing::Test::RecordProperty("redelivered", static_cast<int>(redelivered));
}

class QuickFixInterop : public testing::Test {
protected:
    void SetUp() override {
        root_ = std::filesystem::temp_directory_path() / ("millpond_interop_" + std::to_string(::getpid()));
        std::filesystem::remove_all(root_);
    }
    void TearDown() override {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    void run(std::string our_role, std::string its_role) {
        const auto port = static_cast<std::uint16_t>(bench::free_port());
        Side ours{"ours", std::move(our_role), port, root_};
        Side its{"quickfix", std::move(its_role), port, root_};
        std::minstd_rand random{1};
        std::size_t goal = 0;
        for (int round = 0; round < 4; ++round) {
            // Both sides make progress, then one is killed while sending.
            goal += 200 + random() % 200;
            ASSERT_TRUE(wait([&] { return ours.different_orders() >= goal && its.different_orders() >= goal; }));
            auto& victim = round % 2 == 0 ? ours : its;
            victim.kill_now();
            victim.start();
        }
        ASSERT_TRUE(wait([&] { return ours.different_orders() == kOrders && its.different_orders() == kOrders; }));
        expect_every_order(ours);
        expect_every_order(its);
    }
    template <class Done>
    static bool wait(Done&& done) {
        const auto end = core::monotonic_nanos() + 60'000'000'000;
        while (!done()) {
            if (core::monotonic_nanos() > end) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds{10});  // other processes work in the meantime
        }
        return true;
    }

    std::filesystem::path root_;
};

TEST_F(QuickFixInterop, OurAcceptorAndItsInitiatorLoseNoOrderThoughBothAreKilled) { run("acceptor", "initiator"); }

TEST_F(QuickFixInterop, OurInitiatorAndItsAcceptorLoseNoOrderThoughBothAreKilled) { run("initiator", "acceptor"); }

}  // namespace
}  // namespace millpond::engine
