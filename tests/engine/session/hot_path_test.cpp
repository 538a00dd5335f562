// Orders, answers, messages of senders and resends on a warm session use no heap, cause no page fault, and make only
// the system calls that move bytes or wait for them.

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/page_fault_counter.hpp"
#include "tests/support/syscall_guard.hpp"

namespace millpond::engine {
namespace {

/// Answers each order and keeps no state.
class AnsweringDesk final : public Application {
public:
    fix::Verdict on_message(SessionLink& link, const fix::Message& order) override {
        ++orders;
        const auto id = order.unsigned_integer(fix::tag::kClOrdId).value_or(0);
        const bool sent = link.send("8", [&](fix::Writer& writer) { writer.add<fix::tag::kClOrdId>(id); });
        return sent ? fix::Verdict::accepted : fix::Verdict::application_not_available;
    }
    void on_logon(SessionLink& link) override { session = &link.session(); }

    std::uint64_t orders{0};
    const fix::Session* session{nullptr};
};

/// A client whose messages are all prepared before the first one is sent: orders, and sometimes a ResendRequest.
class Drill {
public:
    static constexpr std::uint64_t kSteps = 400;
    static constexpr std::uint64_t kResendEvery = 50;
    static constexpr std::uint64_t kSendersEvery = 5;

    explicit Drill(core::Poll poll, const StoreOptions& store = {})
        : io_({.poll = poll}), handle_(&acceptor_.add(options(store), desk_)) {
        script_.push_back(message("FIX.4.4", "A", 1, "A", "98=0|108=3600|"));
        for (std::uint64_t step = 1; step <= 2 * kSteps; ++step) {
            const bool again = step % kResendEvery == 0;
            const auto body = again ? std::string{"7=2|16=21|"} : "11=" + std::to_string(step) + "|";
            script_.push_back(message("FIX.4.4", again ? "2" : "D", static_cast<int>(step) + 1, "A", body));
        }
        client_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(acceptor_.port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        static_cast<void>(::connect(client_, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    }
    Drill(const Drill&) = delete;
    Drill& operator=(const Drill&) = delete;
    ~Drill() { ::close(client_); }

    [[nodiscard]] bool log_on() {
        for (int i = 0; i < 5; ++i) io_.poll(std::chrono::milliseconds{1});
        send_next();
        return run_until(io_, [&] { return desk_.session != nullptr; });
    }
    /// Returns whether all answers are right.
    [[nodiscard]] bool run() {
        const auto& counters = desk_.session->counters();
        for (std::uint64_t step = 1; step <= kSteps; ++step) {
            const bool again = (at_ % kResendEvery) == 0;
            const auto orders = desk_.orders + (again ? 0 : 1);
            const auto resent = counters.resent.read() + (again ? 20 : 0);
            send_next();
            if (step % kSendersEvery == 0) {
                for (std::uint64_t i = 0; i < 3; ++i) {
                    if (sender_.try_send(sender_.try_make(Order{i, 1, {}})) != Handed::queued) return false;
                    ++handed_;
                }
            }
            for (int turns = 0; desk_.orders < orders || counters.resent.read() < resent ||
                                sender_.counters().written.read() < handed_;
                 ++turns) {
                io_.poll(std::chrono::milliseconds{0});
                if (turns > 1'000'000) return false;
            }
            while (::recv(client_, ignored_.data(), ignored_.size(), 0) > 0) {
            }
        }
        return true;
    }

private:
    [[nodiscard]] SessionOptions options(const StoreOptions& store) const {
        return {
            .config = {.sender_comp_id = "HOUSE", .target_comp_id = "A"}, .dictionary = &dictionary_, .store = store};
    }
    void send_next() {
        const auto& bytes = script_[at_++];
        static_cast<void>(::send(client_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    AnsweringDesk desk_;
    IoThread io_;
    Acceptor acceptor_{io_, {}};
    SessionHandle* handle_;
    memory::MessagePool<Order> pool_{256};
    AsyncSender<Order, OrderEncoder> sender_{*handle_, pool_};
    std::vector<std::string> script_;
    std::size_t at_{0};
    std::uint64_t handed_{0};
    int client_{-1};
    std::array<char, 65'536> ignored_{};
};

void remove(const StoreOptions& store) {
    if (store.file.empty()) return;
    for (std::size_t i = 0; i < store.segments; ++i) {
        std::filesystem::remove(fix::FileStore::segment_path(store.file, i));
    }
}

void expect_only_io(core::Poll poll, const StoreOptions& store = {}) {
    {
        Drill drill{poll, store};
        ASSERT_TRUE(drill.log_on() && drill.run());
        const test::AllocationCounter heap;
        const test::PageFaultCounter pages;
        const bool right = drill.run();
        const auto faults = pages.faults();
        const auto allocations = heap.allocations();
        EXPECT_TRUE(right);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // Sanitizers fault and allocate.
        EXPECT_EQ(faults, 0U);
        EXPECT_EQ(allocations, 0U);
#else
        static_cast<void>(faults), static_cast<void>(allocations);
#endif
    }
    const auto outcome = test::run_guarded([&](test::SyscallGuard& guard) {
        remove(store);
        auto& drill = *new Drill{poll, store};  // never destroyed: the destructor makes other system calls
        if (!drill.log_on() || !drill.run()) return false;
        guard.allow_only({SYS_recvfrom, SYS_sendto, SYS_sendmsg, SYS_epoll_wait});
        return drill.run();
    });
    if (outcome.end == test::GuardedOutcome::End::unavailable) GTEST_SKIP() << "this machine allows no seccomp filter";
    EXPECT_EQ(outcome.end, test::GuardedOutcome::End::done) << outcome;
}

TEST(EngineHotPath, OrdersAnswersSendersAndResendsNeedNothingButTheirBytes) { expect_only_io(core::Poll::block); }

TEST(EngineHotPath, TheSameWhileItSpins) { expect_only_io(core::Poll::spin); }

TEST(EngineHotPath, TheSameWithTheStoreInAFile) {
    const auto file = std::filesystem::temp_directory_path() / ("millpond_hot_path_" + std::to_string(::getpid()));
    // One segment: no thread prepares the next one while this one counts.
    const StoreOptions store{.file = file, .segments = 1};
    remove(store);
    expect_only_io(core::Poll::spin, store);
    remove(store);
}

}  // namespace
}  // namespace millpond::engine
