// Two machines with the same sessions: the primary is killed at random times while orders arrive, the standby takes
// over, and each order is filled once.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/engine/async_sender.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/memory/message_pool.hpp>

#include "fixd/admin/admin_server.hpp"
#include "tests/apps/program.hpp"
#include "tests/net/network_pair.hpp"
#include "tests/support/certificates.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};

/// Waits until `done` returns true, for at most a minute.
template <class Done>
[[nodiscard]] bool comes_true(Done&& done) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!done()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    return true;
}

struct Order {
    std::uint64_t id{0};
};

struct OrderEncoder {
    [[nodiscard]] std::string_view msg_type(const Order&) const { return "D"; }
    [[nodiscard]] bool encode(const Order& order, fix::Writer& writer) const {
        writer.add<fix::tag::kClOrdId>(order.id).add<55>(std::string_view{"MSFT"}).add<54>('1').add<38>(100);
        writer.add<40>('1');
        return true;
    }
};

/// The counterparty: sends orders and counts the fills of each.
class Desk final : public engine::Application {
public:
    /// hosts: addresses at which the sessions may run. The I/O thread uses the caller's network namespace.
    Desk(const std::vector<engine::Host>& hosts, const std::filesystem::path& store) {
        auto& session =
            initiator_.add({.config = {.sender_comp_id = "DESK", .target_comp_id = "VENUE", .heartbeat_seconds = 1},
                            .dictionary = &dictionary_,
                            .store = {.bytes = 64U << 20U, .file = store, .segments = 0}},
                           {.hosts = hosts,
                            .reconnect = {.first = std::chrono::milliseconds{10},
                                          .max = std::chrono::milliseconds{100},
                                          .connect_timeout = std::chrono::milliseconds{300}}},
                           *this);
        session_ = &session;
        sender_ = std::make_unique<engine::AsyncSender<Order, OrderEncoder>>(session, pool_);
        io_.start();
    }
    ~Desk() override { io_.stop(); }

    /// False if the order must be sent again later.
    [[nodiscard]] bool send(std::uint64_t id) {
        auto draft = sender_->try_make(Order{id});
        return draft && sender_->try_send(std::move(draft), {}) == engine::Handed::queued;
    }
    [[nodiscard]] std::uint64_t filled() const { return filled_.load(); }
    [[nodiscard]] bool is_on() const { return session_->status().state == fix::Session::State::active; }
    [[nodiscard]] engine::SessionStatus status() const { return session_->status(); }
    [[nodiscard]] int fills_of(std::uint64_t id) const {
        const std::lock_guard guard{lock_};
        return id < fills_.size() ? fills_[id] : 0;
    }

    fix::Verdict on_message(engine::SessionLink&, const fix::Message& message) override {
        const auto id = message.unsigned_integer(fix::tag::kClOrdId).value_or(0);
        const std::lock_guard guard{lock_};
        if (fills_.size() <= id) fills_.resize(2 * id + 1);
        if (++fills_[id] == 1) filled_.fetch_add(1);
        return fix::Verdict::accepted;
    }

private:
    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    mutable std::mutex lock_;
    std::vector<int> fills_;
    std::atomic<std::uint64_t> filled_{0};
    engine::IoThread io_;
    engine::Initiator initiator_{io_};
    engine::SessionHandle* session_{nullptr};
    memory::MessagePool<Order> pool_{1024};
    std::unique_ptr<engine::AsyncSender<Order, OrderEncoder>> sender_;
};

/// A machine that runs `millpond fix acceptor --fill`, which can be restarted any number of times.
class Machine {
public:
    struct Place {
        std::string address;
        std::uint16_t fix;
        std::uint16_t standby;
        std::function<void()> enter;  ///< Enters the network namespace.
    };
    Machine(std::filesystem::path folder, Place place, const Place& other, const test::Certificates& made,
            const std::string& more)
        : folder_(std::move(folder)), place_(std::move(place)) {
        std::filesystem::create_directories(folder_);
        const auto tls =
            fmt::format("tls_certificate = '{}'\ntls_key = '{}'\ntls_authorities = '{}'\n",
                        made.certificate("ours-server"), made.key("ours-server"), made.certificate("ours"));
        std::ofstream{folder_ / "fix.toml"} << fmt::format(
            "state = '{}'\nadmin = '{}'\n[standby]\nlisten = '{}:{}'\n{}"
            "[[acceptor]]\nlisten = '{}:{}'\n"
            "[[session]]\nsender = 'VENUE'\ntarget = 'DESK'\nheartbeat_seconds = 1\n"
            "[session.standby]\naddress = '{}:{}'\ntls_server_name = '{}'\n{}{}",
            folder_.string(), admin(), place_.address, place_.standby, tls, place_.address, place_.fix, other.address,
            other.standby, test::Certificates::kServerName, tls, more);
    }
    void start() {
        place_.enter();
        program_ = std::make_unique<Program>(
            std::vector<std::string>{"fix", "acceptor", "--fill", "--config", (folder_ / "fix.toml").string()});
        ASSERT_TRUE(program_->prints("standby on ")) << program_->output();
    }
    void kill() {
        program_->signal(SIGKILL);
        static_cast<void>(program_->wait());
        program_.reset();
    }
    void stop() {
        program_->signal(SIGTERM);
        static_cast<void>(program_->wait());
        program_.reset();
    }
    [[nodiscard]] std::string admin() const { return (folder_ / "admin.sock").string(); }
    /// The engine's answer; empty if it does not respond.
    [[nodiscard]] std::string ask(const std::string& request) const try {
        return fixd::ask_engine(admin(), request);
    } catch (const std::system_error&) {
        return {};
    }
    [[nodiscard]] bool lists(const std::string& text) const { return ask("list").find(text) != std::string::npos; }
    [[nodiscard]] std::string promote(bool force = false) const {
        return ask(std::string{"promote\tDESK\t"} + (force ? "force" : "-"));
    }
    [[nodiscard]] const Place& place() const { return place_; }

private:
    std::filesystem::path folder_;
    Place place_;
    std::unique_ptr<Program> program_;
};

/// Machines A and B, and the desk on B's side of the link.
class FixStandby : public ::testing::Test {
protected:
    void SetUp() override {
        if (!made_.made()) GTEST_SKIP() << "the program openssl is missing";
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override {
        desk_.reset();
        a_.reset();
        b_.reset();
        pair_.reset();
        std::filesystem::remove_all(folder_);
    }

    /// Starts both machines, on one host or with a network link between them.
    void begin(const std::string& more) {
        const bool linked = pair_ != nullptr;
        // Ports that no other test uses, below the kernel's ephemeral ports.
        const auto base = static_cast<std::uint16_t>(20'000 + getpid() % 2'000 * 4);
        const Machine::Place a{linked ? "10.99.0.1" : "127.0.0.1", base, static_cast<std::uint16_t>(base + 1), [this] {
                                   if (pair_) pair_->enter_near();
                               }};
        const Machine::Place b{linked ? "10.99.0.2" : "127.0.0.1", static_cast<std::uint16_t>(base + 2),
                               static_cast<std::uint16_t>(base + 3), [this] {
                                   if (pair_) pair_->enter_far();
                               }};
        a_ = std::make_unique<Machine>(folder_ / "a", a, b, made_, more);
        b_ = std::make_unique<Machine>(folder_ / "b", b, a, made_, more);
        a_->start();
        b_->start();
        // Neither machine has run the session before.
        EXPECT_THAT(a_->promote(), HasSubstr("never whole"));
        EXPECT_THAT(a_->promote(true),
                    HasSubstr("{\"done\":true,\"promoted\":[{\"name\":\"FIX.4.4:VENUE->DESK\",\"epoch\":1,"));
        ASSERT_TRUE(comes_true([&] { return a_->lists("\"standby\":\"attached\""); })) << a_->ask("list");
        b.enter();
        desk_ = std::make_unique<Desk>(std::vector<engine::Host>{{a.address, a.fix}, {b.address, b.fix}},
                                       folder_ / "desk.store");
        ASSERT_TRUE(comes_true([&] { return desk_->is_on(); }));
    }
    void set_link(bool up) const {
        pair_->enter_near();
        const auto command = fmt::format("ip link set near0 {}", up ? "up" : "down");
        ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe): a constant command
    }
    void send_orders(std::uint64_t count) {
        const auto to = sent_ + count;
        ASSERT_TRUE(comes_true([&] {
            while (sent_ < to && desk_->send(sent_ + 1)) ++sent_;
            return sent_ == to;
        }));
    }
    /// Fails over from A to B; A restarts, detects this, becomes the standby, and is promoted again.
    void fail_over(int kind) {
        const bool lives = kind == 1;
        if (kind != 0) set_link(false);
        if (!lives) a_->kill();
        ASSERT_THAT(b_->promote(), HasSubstr("{\"done\":true,"));
        send_orders(20);
        if (kind != 0) set_link(true);
        if (!lives) a_->start();
        ASSERT_TRUE(comes_true([&] { return b_->lists("\"standby\":\"attached\""); })) << b_->ask("list");
        send_orders(20);
        ASSERT_THAT(a_->promote(), HasSubstr("{\"done\":true,"));
        ASSERT_TRUE(comes_true([&] { return b_->lists("\"role\":\"standby\""); })) << b_->ask("list");
        b_->stop();
        b_->start();
        ASSERT_TRUE(comes_true([&] { return a_->lists("\"standby\":\"attached\""); })) << a_->ask("list");
    }
    void expect_each_filled_once() {
        ASSERT_TRUE(comes_true([&] { return desk_->filled() == sent_; }))
            << desk_->filled() << " of " << sent_ << " " << a_->ask("list") << b_->ask("list");
        for (std::uint64_t id = 1; id <= sent_; ++id) ASSERT_EQ(desk_->fills_of(id), 1) << id;
        EXPECT_EQ(desk_->status().lost, 0U);
        EXPECT_FALSE(desk_->status().awaits_resend);
    }

    test::Certificates made_;
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / fmt::format("millpond-fix-standby-{}", getpid());
    std::unique_ptr<net::test::NetworkPair> pair_;
    std::unique_ptr<Machine> a_;
    std::unique_ptr<Machine> b_;
    std::unique_ptr<Desk> desk_;
    std::uint64_t sent_{0};
};

/// MILLPOND_STANDBY_KILLS: how often the primary is killed; MILLPOND_STANDBY_ORDERS: orders in all.
std::uint64_t number_of(const char* variable, std::uint64_t usual) {
    const auto* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): before any thread
    return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}

TEST_F(FixStandby, WhenThePrimaryDiesTheStandbyTakesOverByCommand) {
    begin("");
    send_orders(50);
    fail_over(0);
    send_orders(50);
    expect_each_filled_once();
    // An operator may repeat the command; a running session is already promoted.
    const auto again = run({"fix", "sessions", "promote", "DESK", "--admin", a_->admin()});
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_THAT(again.out, HasSubstr("FIX.4.4:VENUE->DESK runs here: epoch "));
    EXPECT_EQ(run({"fix", "sessions", "promote", "--admin", a_->admin()}).exit_code, 2);
    const auto listed = run({"fix", "sessions", "list", "--admin", b_->admin()});
    EXPECT_THAT(listed.out, HasSubstr("FIX.4.4:VENUE->DESK"));
    EXPECT_THAT(listed.out, HasSubstr(" standby "));
    const auto unknown = run({"fix", "sessions", "promote", "OTHER", "--admin", b_->admin()});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_THAT(unknown.err, HasSubstr("there is no session 'OTHER'"));
}

TEST_F(FixStandby, WithReceivedEachOrderIsFilledOnceWhateverDiesWhen) {
    std::string why;
    pair_ = net::test::NetworkPair::make(why);
    if (!pair_) GTEST_SKIP() << why;
    const auto kills = number_of("MILLPOND_STANDBY_KILLS", 3);
    const auto orders = number_of("MILLPOND_STANDBY_ORDERS", 600);
    const auto seed = static_cast<unsigned>(number_of("MILLPOND_STANDBY_SEED", 1));
    begin("timeout_ms = 500\n");
    std::mt19937 random{seed};
    for (std::uint64_t i = 0; i < kills; ++i) {
        send_orders(std::max<std::uint64_t>(orders / kills, 41) - 40);
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 30'000});
        ASSERT_NO_FATAL_FAILURE(fail_over(static_cast<int>((i + seed) % 3))) << "kill " << i;
    }
    expect_each_filled_once();
    RecordProperty("kills", std::to_string(kills));
    RecordProperty("orders", std::to_string(sent_));
}

}  // namespace
}  // namespace millpond::app
