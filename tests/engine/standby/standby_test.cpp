// A session with a standby: output that waits for it, the loss of the standby, and who may take over.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/engine/replica_server.hpp>
#include <millpond/fix/schedule.hpp>

#include "tests/engine/engine_pair.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/stepped_clock.hpp"

namespace millpond::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = StandbyStatus::State;

constexpr Reconnect kAtOnce{.first = std::chrono::milliseconds{5}, .max = std::chrono::milliseconds{20}};

/// Answers each order with an order, and keeps received orders.
class Echo : public Counterparty {
public:
    Echo() {
        on_order = [this](SessionLink& link, const fix::Message& message) {
            if (!answers) return;
            const auto id = message.unsigned_integer(fix::tag::kClOrdId).value_or(0);
            EXPECT_TRUE(link.send("D", [&](fix::Writer& writer) { writer.add<fix::tag::kClOrdId>(id); }));
        };
    }
    bool answers{true};
};

/// Limits files of this process to 64 KiB during its lifetime, like a full disk.
class FullDisk {
public:
    FullDisk() {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{64U << 10U, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

/// HOUSE accepts and has a standby; DESK connects to it. The standby's thread is polled only when a test does so.
class StandbyTest : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("millpond-standby-" + std::to_string(getpid()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override {
        sender_.reset();  // before the session that it sends to
        desks_.reset();
        acceptor_.reset();
        server_.reset();
        std::filesystem::remove_all(folder_);
    }

    [[nodiscard]] SessionOptions house(const std::string& store) const {
        return {.config = {.sender_comp_id = "HOUSE", .target_comp_id = "DESK", .schedule = schedule_},
                .dictionary = &dictionary_,
                .store = {.bytes = 1U << 20U, .file = folder_ / store}};
    }
    void start_standby(const std::string& store = "standby", ReplicaServer::Options options = {}) {
        options.port = server_port_;
        server_ = std::make_unique<ReplicaServer>(other_io_, options);
        server_port_ = server_->port();
        is_replica_ = server_->add(house(store));
    }
    void start_house(StandbyMode mode, OnStandbyLoss on_loss, const std::string& store = "primary",
                     std::optional<tls::Options> tls = {}, std::string token = {}) {
        auto options = house(store);
        options.standby = {.host = {"127.0.0.1", server_port_},
                           .mode = mode,
                           .on_loss = on_loss,
                           .timeout = timeout_,
                           .tls = std::move(tls),
                           .token = std::move(token)};
        start_house(std::move(options));
    }
    void start_house(SessionOptions options) {
        acceptor_ = std::make_unique<Acceptor>(io_, Acceptor::Options{.port = house_port_});
        house_port_ = acceptor_->port();
        session_ = &acceptor_->add(std::move(options), echo_);
    }
    void start_desk() {
        desks_ = std::make_unique<Initiator>(io_);
        desk_session_ =
            &desks_->add({.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE", .schedule = schedule_},
                          .dictionary = &dictionary_,
                          .store = {.file = folder_ / "desk"}},
                         {.hosts = {{"127.0.0.1", house_port_}}, .reconnect = kAtOnce}, desk_);
        sender_ = std::make_unique<AsyncSender<Order, OrderEncoder>>(*desk_session_, pool_);
    }
    /// Logs DESK on. Attempts before the standby was connected do not count.
    [[nodiscard]] bool log_on() {
        if (!both([&] { return desk_is_on() && standby().behind == 0; })) return false;
        echo_.closed.clear();
        desk_.closed.clear();
        return true;
    }
    void order(std::uint64_t id) {
        auto draft = sender_->try_make(Order{.id = id, .quantity = 1});
        ASSERT_TRUE(draft);
        ASSERT_EQ(sender_->try_send(std::move(draft), {}), Handed::queued);
    }
    /// Sends orders up to this id, as fast as they are accepted; each is answered.
    [[nodiscard]] bool trade(std::uint64_t last) {
        std::uint64_t sent = desk_.orders.size();
        return both([&] {
            while (sent < last) {
                auto draft = sender_->try_make(Order{.id = sent + 1, .quantity = 1});
                if (!draft || sender_->try_send(std::move(draft), {}) != Handed::queued) break;
                ++sent;
            }
            return desk_.orders.size() == last;
        });
    }
    /// Polls the standby's thread too.
    template <class Done>
    [[nodiscard]] bool both(Done&& done) {
        return run_until(io_, [&] {
            other_io_.poll(std::chrono::milliseconds{0});
            return done();
        });
    }
    template <class Done>
    [[nodiscard]] bool alone(Done&& done) {
        return run_until(io_, done);
    }
    [[nodiscard]] StandbyStatus standby() const { return session_->status().standby; }
    [[nodiscard]] bool is(State state) const { return standby().state == state; }
    [[nodiscard]] bool desk_is_on() const { return desk_session_->status().state == fix::Session::State::active; }
    [[nodiscard]] ReplicaStatus replica() const { return server_->replicas().at(0); }
    /// Enough rounds for an event that must not happen.
    void idle(int rounds = 50) {
        for (int i = 0; i < rounds; ++i) io_.poll(std::chrono::milliseconds{0});
    }

    std::chrono::milliseconds timeout_{400};
    std::optional<fix::Schedule> schedule_;  // of both sides
    std::filesystem::path folder_;
    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Echo echo_;
    Counterparty desk_;
    IoThread other_io_;
    IoThread io_;
    std::uint16_t server_port_{0};
    std::uint16_t house_port_{0};
    bool is_replica_{false};
    std::unique_ptr<ReplicaServer> server_;
    std::unique_ptr<Acceptor> acceptor_;
    memory::MessagePool<Order> pool_{256};
    std::unique_ptr<Initiator> desks_;
    SessionHandle* session_{nullptr};
    SessionHandle* desk_session_{nullptr};
    std::unique_ptr<AsyncSender<Order, OrderEncoder>> sender_;
};

TEST_F(StandbyTest, APrimaryThatComesBeforeItsSessionIsAddedWaitsForIt) {
    std::vector<ReplicaRefusal> refusals;
    ReplicaServer::Options options;
    options.refused = [&](ReplicaRefusal reason, const auto&, auto, auto) { refusals.push_back(reason); };
    server_ = std::make_unique<ReplicaServer>(other_io_, options);
    server_port_ = server_->port();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    // Enough for the connection and its Hello.
    for (int i = 0; i < 10; ++i) {
        io_.poll(std::chrono::milliseconds{0});
        other_io_.poll(std::chrono::milliseconds{0});
    }
    EXPECT_FALSE(is(State::attached));
    ASSERT_TRUE(server_->add(house("standby")));
    ASSERT_TRUE(both([&] { return is(State::attached); }));
    EXPECT_EQ(replica().connections, 1U);
    EXPECT_TRUE(refusals.empty());
}

TEST_F(StandbyTest, ASessionThatStopsWithoutItsStandbyAcceptsNoLogonBeforeTheStandbyIsConnected) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    EXPECT_TRUE(alone([&] { return desk_.closed.size() >= 2; }));
    EXPECT_EQ(desk_.logons, 0);
    EXPECT_TRUE(both([&] { return desk_is_on(); }));
    EXPECT_TRUE(is(State::attached));
    EXPECT_TRUE(replica().is_whole);
}

TEST_F(StandbyTest, AnAnswerReachesTheCounterpartyOnlyOnceTheStandbyHasIt) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on() && standby().behind == 0; }));
    order(1);
    ASSERT_TRUE(alone([&] { return echo_.orders.size() == 1; }));
    idle(20);
    EXPECT_TRUE(desk_.orders.empty());
    EXPECT_EQ(standby().behind, 1U);
    ASSERT_TRUE(both([&] { return desk_.orders.size() == 1; }));
    EXPECT_EQ(replica().next_target, session_->status().next_target);
    EXPECT_EQ(replica().next_sender, session_->status().next_sender);
}

TEST_F(StandbyTest, WithoutWaitingTheAnswerDoesNotNeedTheStandby) {
    start_standby();
    start_house(StandbyMode::none, OnStandbyLoss::go_on);
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on() && is(State::attached); }));
    order(1);
    ASSERT_TRUE(alone([&] { return desk_.orders.size() == 1; }));
    ASSERT_TRUE(both([&] { return standby().behind == 0; }));
    EXPECT_EQ(replica().next_sender, session_->status().next_sender);
}

TEST_F(StandbyTest, AStuckStandbyStopsTheSessionAndOutputThatItLacksIsNotSent) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    order(1);
    ASSERT_TRUE(alone([&] { return is(State::lost); }));
    EXPECT_THAT(standby().error, HasSubstr("no acknowledgement in time"));
    EXPECT_THAT(echo_.closed, Contains(Closed::standby_lost));
    EXPECT_TRUE(desk_.orders.empty());
    EXPECT_GE(standby().losses, 1U);
    // When the session exists again, the counterparty requests the missing messages.
    ASSERT_TRUE(both([&] { return desk_is_on() && !desk_.orders.empty(); }));
    EXPECT_THAT(desk_.orders, ElementsAre(1));
    EXPECT_THAT(echo_.orders, ElementsAre(1));
}

TEST_F(StandbyTest, ASessionThatGoesOnSendsWhatWaitedWhenTheStandbyIsLost) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::go_on);
    start_desk();
    ASSERT_TRUE(log_on());
    order(1);
    ASSERT_TRUE(alone([&] { return desk_.orders.size() == 1; }));
    EXPECT_TRUE(is(State::lost));
    EXPECT_GE(standby().losses, 1U);
    order(2);
    ASSERT_TRUE(alone([&] { return desk_.orders.size() == 2; }));
    EXPECT_TRUE(echo_.closed.empty());
    // The output waits again once the standby is filled.
    ASSERT_TRUE(both([&] { return is(State::attached) && standby().behind == 0; }));
    EXPECT_EQ(replica().next_sender, session_->status().next_sender);
    order(3);
    ASSERT_TRUE(alone([&] { return echo_.orders.size() == 3; }));
    idle(5);
    EXPECT_EQ(desk_.orders.size(), 2U);
    ASSERT_TRUE(both([&] { return desk_.orders.size() == 3; }));
}

TEST_F(StandbyTest, WithoutAStandbyFromTheStartASessionThatGoesOnBeginsAfterTheTimeout) {
    start_standby();
    server_.reset();  // no process listens there
    start_house(StandbyMode::received, OnStandbyLoss::go_on);
    start_desk();
    ASSERT_TRUE(alone([&] { return desk_is_on(); }));
    EXPECT_TRUE(is(State::lost));
    EXPECT_GE(standby().losses, 1U);
    EXPECT_FALSE(standby().error.empty());
}

TEST_F(StandbyTest, ALostConnectionWithinTheTimeoutHasNoEffect) {
    timeout_ = std::chrono::seconds{30};
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(log_on());
    for (std::uint64_t id = 1; id <= 5; ++id) {
        order(id);
        server_.reset();
        start_standby();
        ASSERT_TRUE(both([&] { return desk_.orders.size() == id; }));
    }
    EXPECT_EQ(desk_.logons, 1);
    EXPECT_TRUE(desk_.closed.empty());
    EXPECT_EQ(standby().losses, 0U);
    EXPECT_THAT(echo_.orders, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(StandbyTest, TheLastBytesOfAnEndingConnectionWaitToo) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(log_on());
    desk_session_->request_logout("bye");
    ASSERT_TRUE(both([&] { return !desk_.closed.empty(); }));
    EXPECT_THAT(desk_.closed, ElementsAre(Closed::logged_out));
}

TEST_F(StandbyTest, ManyOrdersAtOnceAreHeldBackInBoundsAndAllAnswered) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(log_on());
    ASSERT_TRUE(trade(5'000));
    EXPECT_EQ(echo_.orders.size(), 5'000U);
    EXPECT_TRUE(echo_.closed.empty());
    EXPECT_EQ(replica().next_target, session_->status().next_target);
}

TEST_F(StandbyTest, AFullDiskOfTheStandbyCostsItHistoryAndDoesNotAffectTheSession) {
    start_standby();
    auto options = house("primary");
    options.store.segments = 1;  // needs no further file
    options.store.bytes = 4U << 20U;
    options.standby = {.host = {"127.0.0.1", server_port_}, .timeout = std::chrono::seconds{30}};
    start_house(std::move(options));
    start_desk();
    ASSERT_TRUE(log_on());
    const FullDisk full;
    ASSERT_TRUE(trade(5'000));
    ASSERT_TRUE(both([&] { return standby().behind == 0; }));
    EXPECT_EQ(standby().losses, 0U);
    EXPECT_TRUE(echo_.closed.empty());
    ASSERT_TRUE(both([&] { return replica().store_failures != 0; }));  // another thread's attempt
    EXPECT_TRUE(replica().is_whole);
    EXPECT_EQ(replica().next_sender, session_->status().next_sender);
    // It can take over, and continues within the remaining capacity.
    acceptor_.reset();
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    server_.reset();
    start_house(house("standby"));
    ASSERT_TRUE(alone([&] { return desk_is_on(); }));
    ASSERT_TRUE(trade(10'000));
    ASSERT_TRUE(alone([&] { return session_->status().store_failures != 0; }));
    EXPECT_EQ(echo_.orders.size(), 10'000U);
}

TEST_F(StandbyTest, AStandbyWhoseDiskIsFullAtTheStartIsAnErrorAndTheSessionFollowsItsSettings) {
    for (const auto on_loss : {OnStandbyLoss::go_on, OnStandbyLoss::stop}) {
        const std::string store = on_loss == OnStandbyLoss::stop ? "stops" : "goes-on";
        start_standby();
        ASSERT_TRUE(is_replica_);
        server_->remove("FIX.4.4:HOUSE->DESK");
        {
            const FullDisk full;
            EXPECT_THROW(static_cast<void>(server_->add(house("full" + store))), memory::RegionError);
        }
        EXPECT_TRUE(server_->replicas().empty());
        start_house(StandbyMode::received, on_loss, store);
        start_desk();
        ASSERT_TRUE(both([&] { return is(State::lost); }));
        EXPECT_THAT(standby().error, HasSubstr("no session"));
        if (on_loss == OnStandbyLoss::go_on) {
            ASSERT_TRUE(both([&] { return desk_is_on(); }));
        } else {
            for (int i = 0; i < 50; ++i) ASSERT_FALSE(both([] { return true; }) && desk_is_on());
        }
        // Space is freed, and the session has its standby.
        ASSERT_TRUE(server_->add(house("full" + store)));
        ASSERT_TRUE(both([&] { return is(State::attached) && desk_is_on(); }));
        TearDown();
        SetUp();
    }
}

/// Kills the primary between any two of its rounds: the standby's state is sufficient then.
TEST_F(StandbyTest, ThePromotedStandbyGoesOnWithTheRightNumbersAndEachOrderIsAnsweredOnce) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    order(1);
    ASSERT_TRUE(both([&] { return desk_.orders.size() == 1; }));
    order(2);
    // The primary has answered, but the standby does not know it.
    ASSERT_TRUE(alone([&] { return echo_.orders.size() == 2; }));
    acceptor_.reset();
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    server_.reset();
    start_house(house("standby"));
    ASSERT_TRUE(alone([&] { return desk_.orders.size() >= 2; }));
    idle();
    EXPECT_THAT(desk_.orders, ElementsAre(1, 2));
    EXPECT_THAT(echo_.orders, ElementsAre(1, 2, 2));  // the standby answers the second one
    order(3);
    ASSERT_TRUE(alone([&] { return desk_.orders.size() == 3; }));
}

TEST_F(StandbyTest, AfterAPromotionASessionRunsAloneUntilAStandbyIsFilledAndFromThenOnStopsWithoutIt) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    ASSERT_TRUE(trade(5));
    acceptor_.reset();
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    server_.reset();
    // The former primary does not come back.
    for (int i = 0; i < 2; ++i) {
        start_house(StandbyMode::received, OnStandbyLoss::stop, "standby");
        ASSERT_TRUE(alone([&] { return is(State::lost) && desk_is_on(); })) << "also after a restart";
        EXPECT_TRUE(standby().goes_on);
        if (i == 0) acceptor_.reset();
    }
    ASSERT_TRUE(trade(10));
    start_standby("primary");
    ASSERT_TRUE(is_replica_);
    ASSERT_TRUE(both([&] { return is(State::attached); })) << standby().error;
    EXPECT_FALSE(standby().goes_on);
    ASSERT_TRUE(trade(15));
    server_.reset();
    ASSERT_TRUE(alone([&] { return is(State::lost) && !desk_is_on(); })) << "now it stops";
    EXPECT_EQ(desk_.orders.size(), 15U);
}

TEST_F(StandbyTest, MessagesThatTheCounterpartyMissedAreResentFromTheCopy) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    order(1);
    ASSERT_TRUE(alone([&] { return echo_.orders.size() == 1; }));
    // The standby receives it, and the primary dies before the acknowledgement.
    const auto next_sender = session_->status().next_sender;
    while (replica().next_sender < next_sender) other_io_.poll(std::chrono::milliseconds{1});
    acceptor_.reset();
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    server_.reset();
    echo_.answers = false;
    start_house(house("standby"));
    ASSERT_TRUE(alone([&] { return desk_.orders.size() == 1; }));
    EXPECT_THAT(echo_.orders, ElementsAre(1));
}

/// Consecutive runs without a gap; the next one begins in an hour.
class StandbyRunTest : public StandbyTest {
protected:
    StandbyRunTest() {
        const auto boundary = (core::utc_nanos() / 1'000'000'000 + 3'600) % 86'400;
        schedule_ = fix::Schedule::daily(boundary, boundary);
    }
    /// DESK has sent its Logon and this many orders in this run, each of which was answered exactly once.
    void expect_run_of(std::uint64_t orders) const {
        EXPECT_EQ(session_->status().next_sender, 2 + orders);
        EXPECT_EQ(session_->status().next_target, 2 + orders);
        EXPECT_EQ(desk_session_->status().next_sender, 2 + orders);
        EXPECT_EQ(desk_session_->status().next_target, 2 + orders);
        EXPECT_EQ(desk_session_->status().lost, 0U);
    }
    /// Ends the connection like the death of a process; DESK notices it.
    [[nodiscard]] bool end_house() {
        acceptor_.reset();
        return alone([&] { return !desk_is_on(); });
    }
    /// HOUSE has answered five orders of DESK, which the standby has, and has ended.
    void trade_and_end_house() {
        start_standby();
        start_house(StandbyMode::received, OnStandbyLoss::stop);
        start_desk();
        ASSERT_TRUE(both([&] { return desk_is_on(); }));
        ASSERT_TRUE(trade(5));
        ASSERT_TRUE(end_house());
    }
    /// The I/O thread compares the clocks once per millisecond.
    [[nodiscard]] bool notice_step() {
        const auto end = core::monotonic_nanos() + 5'000'000;
        return alone([&] { return core::monotonic_nanos() > end; });
    }
    static constexpr std::int64_t kOverTheBoundary = 3'601'000'000'000;
};

TEST_F(StandbyRunTest, AStandbyThatIsPromotedWhereARunFollowsTheOtherBeginsTheNewOneOnce) {
    ASSERT_NO_FATAL_FAILURE(trade_and_end_house());
    const test::ClockStep step{kOverTheBoundary};
    ASSERT_TRUE(notice_step());
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    server_.reset();
    start_house(house("standby"));
    ASSERT_TRUE(alone([&] { return desk_is_on(); }));
    ASSERT_TRUE(trade(8));
    expect_run_of(3);
    // A restart within the run keeps its numbers.
    ASSERT_TRUE(end_house());
    start_house(house("standby"));
    ASSERT_TRUE(alone([&] { return desk_is_on(); }));
    ASSERT_TRUE(trade(9));
    expect_run_of(5);  // the second Logon counts as one
    EXPECT_EQ(echo_.orders.size(), 9U);
}

TEST_F(StandbyRunTest, ASessionThatRanOnlyOnTheOtherMachineWhenTheRunEndedGoesOnInTheNewOne) {
    ASSERT_NO_FATAL_FAILURE(trade_and_end_house());
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    server_.reset();
    start_standby("primary");
    start_house(StandbyMode::received, OnStandbyLoss::stop, "standby");
    ASSERT_TRUE(both([&] { return desk_is_on() && is(State::attached); }));
    ASSERT_TRUE(trade(7));
    const auto logons = desk_.logons;
    const test::ClockStep step{kOverTheBoundary};
    ASSERT_TRUE(both([&] { return desk_.logons > logons && desk_is_on(); }));
    ASSERT_TRUE(trade(10));
    expect_run_of(3);
    ASSERT_TRUE(both([&] { return standby().behind == 0; }));
    EXPECT_TRUE(replica().is_whole);
    EXPECT_EQ(replica().next_sender, session_->status().next_sender);
    // And the reverse, within the run.
    ASSERT_TRUE(end_house());
    EXPECT_EQ(server_->promote("FIX.4.4:HOUSE->DESK").value(), 2U);
    server_.reset();
    start_house(house("primary"));
    ASSERT_TRUE(alone([&] { return desk_is_on(); }));
    ASSERT_TRUE(trade(12));
    expect_run_of(6);  // the second Logon counts as one
    EXPECT_EQ(echo_.orders.size(), 12U);
}

TEST_F(StandbyTest, APromotionWhileThePrimaryRunsEndsItsSessionAtOnce) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    EXPECT_EQ(server_->promote("FIX.4.4:HOUSE->DESK").value(), 1U);
    ASSERT_TRUE(both([&] { return is(State::superseded); }));
    EXPECT_EQ(echo_.closed.back(), Closed::superseded);
    const auto closed = desk_.closed.size();
    ASSERT_TRUE(both([&] { return desk_.closed.size() > closed + 2; }));
    EXPECT_EQ(desk_.logons, 1);
    // It does not after a restart either, with or without the standby.
    acceptor_.reset();
    start_house(StandbyMode::none, OnStandbyLoss::go_on);
    idle();
    EXPECT_TRUE(is(State::superseded));
    acceptor_.reset();
    start_house(house("primary"));
    EXPECT_TRUE(is(State::superseded));
    const auto before = desk_.closed.size();
    ASSERT_TRUE(alone([&] { return desk_.closed.size() > before + 2; }));
    EXPECT_EQ(desk_.logons, 1);
}

TEST_F(StandbyTest, AnOldPrimaryThatComesBackIsRefusedBeforeItAcceptsALogon) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::go_on);
    ASSERT_TRUE(both([&] { return is(State::attached); }));
    acceptor_.reset();
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    start_house(StandbyMode::received, OnStandbyLoss::go_on);
    start_desk();
    ASSERT_TRUE(both([&] { return is(State::superseded); }));
    EXPECT_THAT(standby().error, HasSubstr("the session runs here with epoch 1, the primary is of epoch 0"));
    EXPECT_EQ(desk_.logons, 0);
}

TEST_F(StandbyTest, TheOldPrimaryBecomesTheStandbyAndCanTakeOverAgain) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    order(1);
    ASSERT_TRUE(both([&] { return desk_.orders.size() == 1; }));
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    acceptor_.reset();
    server_.reset();
    start_standby("primary");
    EXPECT_TRUE(is_replica_);
    start_house(StandbyMode::received, OnStandbyLoss::stop, "standby");
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    order(2);
    ASSERT_TRUE(both([&] { return desk_.orders.size() == 2; }));
    EXPECT_TRUE(replica().is_whole);
    EXPECT_EQ(server_->promote("FIX.4.4:HOUSE->DESK").value(), 2U);
    ASSERT_TRUE(both([&] { return is(State::superseded); }));
    acceptor_.reset();
    server_.reset();
    start_house(house("primary"));
    order(3);
    ASSERT_TRUE(alone([&] { return desk_.orders.size() == 3; }));
    EXPECT_THAT(desk_.orders, ElementsAre(1, 2, 3));
}

TEST_F(StandbyTest, ASupersededSessionRunsAgainWhenItIsPromoted) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::go_on);
    ASSERT_TRUE(both([&] { return is(State::attached); }));
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    ASSERT_TRUE(both([&] { return is(State::superseded); }));
    std::optional<std::string> answer;
    session_->request_promotion([&](const std::string& error) { answer = error; });
    ASSERT_TRUE(both([&] { return answer.has_value(); }));
    EXPECT_EQ(*answer, "");
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    EXPECT_EQ(standby().epoch, 2U);
}

TEST_F(StandbyTest, AMessageThatIsKeptGetsItsNumberOnceTheSessionIsPromoted) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::go_on);
    ASSERT_TRUE(both([&] { return is(State::attached); }));
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    ASSERT_TRUE(both([&] { return is(State::superseded); }));
    AsyncSender<Order, OrderEncoder> kept{*session_, pool_, {}, {.while_down = WhileDown::keep}};
    ASSERT_EQ(kept.try_send(kept.try_make(Order{.id = 1, .quantity = 1})), Handed::queued);
    idle();
    EXPECT_EQ(kept.counters().kept.read(), 0U);
    session_->request_promotion({});
    EXPECT_TRUE(both([&] { return kept.counters().kept.read() == 1; }));
    EXPECT_EQ(session_->status().next_sender, 2U);
}

/// Threads that hand over messages continuously, a few of which may be in flight at once.
class StandbyWithSendersTest : public StandbyTest {
protected:
    static constexpr std::size_t kThreads = 3;
    static constexpr std::uint64_t kEach = 3'000;

    void start_senders() {
        outgoing_ = std::make_unique<AsyncSender<Order, OrderEncoder>>(
            *session_, orders_, OrderEncoder{}, SenderOptions{.lane_capacity = 64, .max_in_flight = 4});
        for (std::size_t i = 0; i < kThreads; ++i) {
            threads_.emplace_back([this, i] {
                for (std::uint64_t sent = 0; sent < kEach && !stopped_.load();) {
                    auto draft = outgoing_->try_make(Order{.id = sent * kThreads + i, .quantity = 1});
                    if (draft && outgoing_->try_send(std::move(draft)) == Handed::queued) {
                        ++sent;
                    } else {
                        std::this_thread::yield();
                    }
                }
            });
        }
    }
    void TearDown() override {
        stopped_.store(true);
        for (auto& thread : threads_) thread.join();
        outgoing_.reset();
        StandbyTest::TearDown();
    }
    [[nodiscard]] bool at_least(std::size_t orders) {
        return both([&] { return desk_.orders.size() >= orders; });
    }
    /// Each message has arrived once, and those of a thread in order.
    void expect_all_came() {
        ASSERT_TRUE(at_least(kThreads * kEach)) << desk_.orders.size();
        std::vector<std::uint64_t> next(kThreads);
        for (const auto id : desk_.orders) EXPECT_EQ(id / kThreads, next[id % kThreads]++) << id;
        EXPECT_EQ(desk_.orders.size(), kThreads * kEach);
        const auto& counters = outgoing_->counters();
        EXPECT_TRUE(both([&] { return counters.in_flight.read() == 0; }));
        EXPECT_EQ(counters.written.read() + counters.not_written.read(), kThreads * kEach);
    }

    memory::MessagePool<Order> orders_{1024};
    std::unique_ptr<AsyncSender<Order, OrderEncoder>> outgoing_;
    std::vector<std::thread> threads_;
    std::atomic<bool> stopped_{false};
};

TEST_F(StandbyWithSendersTest, TheyGoOnWhenTheStandbyIsLostAndBack) {
    for (const auto on_loss : {OnStandbyLoss::go_on, OnStandbyLoss::stop}) {
        SCOPED_TRACE(on_loss == OnStandbyLoss::stop ? "stop" : "go on");
        if (on_loss == OnStandbyLoss::stop) {
            TearDown();
            SetUp();
            threads_.clear();
            stopped_.store(false);
            desk_ = {};
            echo_.closed.clear();
        }
        timeout_ = std::chrono::milliseconds{100};
        start_standby();
        start_house(StandbyMode::received, on_loss);
        start_desk();
        ASSERT_TRUE(log_on());
        start_senders();
        for (std::size_t round = 1; round <= 5; ++round) {
            ASSERT_TRUE(at_least(round * kEach / 3));
            ASSERT_TRUE(both([&] { return is(State::attached); }));
            const auto losses = standby().losses;
            const auto is_over = [&] { return desk_.orders.size() == kThreads * kEach; };
            ASSERT_TRUE(alone([&] { return standby().losses > losses || is_over(); })) << round;
            if (round % 2 == 0) idle(500);
        }
        expect_all_came();
    }
}

TEST_F(StandbyWithSendersTest, TheyGoOnWhenTheSessionIsPromoted) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::go_on);
    start_desk();
    ASSERT_TRUE(log_on());
    start_senders();
    ASSERT_TRUE(at_least(kEach));
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    ASSERT_TRUE(both([&] { return is(State::superseded); }));
    idle(500);
    const auto before = desk_.orders.size();
    EXPECT_LT(before, kThreads * kEach);
    session_->request_promotion({});
    expect_all_came();
}

TEST_F(StandbyTest, APromotedMachineLearnsThatAnotherHasTakenOver) {
    std::uint64_t told = 0;
    start_standby("standby", {.superseded = [&](const std::string&, std::uint64_t epoch) { told = epoch; }});
    start_house(StandbyMode::received, OnStandbyLoss::go_on);
    ASSERT_TRUE(both([&] { return is(State::attached); }));
    ASSERT_TRUE(server_->promote("FIX.4.4:HOUSE->DESK").has_value());
    ASSERT_TRUE(both([&] { return is(State::superseded); }));
    session_->request_promotion({});
    ASSERT_TRUE(both([&] { return told == 2; }));
    // The session that ran there ends.
    Acceptor other{io_, {}};
    Counterparty no_one;
    auto& old = other.add(house("standby"), no_one);
    old.request_supersede(told);
    ASSERT_TRUE(both([&] { return old.status().standby.state == State::superseded; }));
}

TEST_F(StandbyTest, APromotedStoreRunsAgainAfterARestartAndAReplicaDoesNot) {
    start_standby();
    EXPECT_TRUE(is_replica_);
    server_.reset();
    try {
        start_house(house("standby"));
        ADD_FAILURE() << "a replica ran";
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), HasSubstr("FIX.4.4:HOUSE->DESK: its store is a standby's copy"));
    }
    acceptor_.reset();
    start_standby();
    const auto refused = server_->promote("FIX.4.4:HOUSE->DESK");
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error(), HasSubstr("it was never whole"));
    EXPECT_EQ(server_->promote("FIX.4.4:HOUSE->DESK", true).value(), 1U);
    EXPECT_EQ(server_->promote("FIX.4.4:HOUSE->DESK").value(), 1U) << "a second time changes nothing";
    EXPECT_FALSE(server_->promote("FIX.4.4:HOUSE->OTHER").has_value());
    server_.reset();
    start_standby();
    EXPECT_FALSE(is_replica_);
}

TEST_F(StandbyTest, AWrongTokenOrSessionIsRefusedByName) {
    start_standby("standby", {.admits = [](std::string_view token) { return token == "the right token"; }});
    start_house(StandbyMode::received, OnStandbyLoss::stop, "primary", {}, "another");
    ASSERT_TRUE(both([&] { return standby().error == "the standby refuses: the token is wrong"; }));
    acceptor_.reset();
    auto options = house("other");
    options.config.target_comp_id = "OTHER";
    options.standby = {.host = {"127.0.0.1", server_port_}, .timeout = timeout_, .token = "the right token"};
    start_house(std::move(options));
    ASSERT_TRUE(
        both([&] { return standby().error == "the standby refuses: the standby has no session with these ids"; }));
    EXPECT_EQ(replica().records, 0U);
}

TEST_F(StandbyTest, ACertificateOfAnotherAuthorityIsRefusedOnEitherSide) {
    const test::Certificates made;
    if (!tls::available() || !made.made()) GTEST_SKIP() << "no TLS, or the program openssl is missing";
    const auto tls = [&](const std::string& who, const std::string& authority) {
        return tls::Options{.certificate = made.certificate(who),
                            .key = made.key(who),
                            .authorities = made.certificate(authority),
                            .server_name = test::Certificates::kServerName};
    };
    start_standby("standby", {.tls = tls("ours-server", "ours")});
    start_house(StandbyMode::received, OnStandbyLoss::stop, "primary", tls("ours-client", "others"));
    ASSERT_TRUE(both([&] { return !standby().error.empty() && is(State::lost); }));
    acceptor_.reset();
    start_house(StandbyMode::received, OnStandbyLoss::stop, "primary", tls("others-client", "ours"));
    ASSERT_TRUE(both([&] { return !standby().error.empty() && is(State::lost); }));
    EXPECT_EQ(replica().connections, 0U);
    acceptor_.reset();
    start_house(StandbyMode::received, OnStandbyLoss::stop, "primary", tls("ours-client", "ours"));
    start_desk();
    ASSERT_TRUE(both([&] { return desk_is_on(); }));
    order(1);
    ASSERT_TRUE(both([&] { return desk_.orders.size() == 1; }));
}

TEST_F(StandbyTest, AReloadedSessionContinuesWithItsStandby) {
    start_standby();
    start_house(StandbyMode::received, OnStandbyLoss::stop);
    start_desk();
    for (std::uint64_t id = 1; id <= 3; ++id) {
        ASSERT_TRUE(both([&] { return desk_is_on(); }));
        order(id);
        ASSERT_TRUE(both([&] { return desk_.orders.size() == id; }));
        acceptor_.reset();
        start_house(StandbyMode::received, OnStandbyLoss::stop);
    }
    ASSERT_TRUE(both([&] { return replica().connections == 4 && is(State::attached) && desk_is_on(); }));
    EXPECT_EQ(replica().next_sender, session_->status().next_sender);
}

TEST_F(StandbyTest, ASessionWithoutAFileHasNoStandby) {
    auto options = house("none");
    options.store.file.clear();
    options.standby = {.host = {"127.0.0.1", 1}};
    EXPECT_THROW(start_house(std::move(options)), std::invalid_argument);
    acceptor_.reset();
    start_standby();
    auto in_memory = house("none");
    in_memory.store.file.clear();
    EXPECT_THROW(static_cast<void>(server_->add(in_memory)), std::invalid_argument);
}

}  // namespace
}  // namespace millpond::engine
