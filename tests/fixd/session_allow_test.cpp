// Addresses that may log on to one session of an acceptor.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>

#include "fixd/fix_engine.hpp"

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Counting final : public engine::Application {
public:
    fix::Verdict on_message(engine::SessionLink&, const fix::Message&) override { return fix::Verdict::accepted; }
    void on_logon(engine::SessionLink&) override { logons.fetch_add(1); }
    void on_closed(engine::SessionLink&, engine::Closed) override { closed.fetch_add(1); }
    std::atomic<int> logons{0};
    std::atomic<int> closed{0};
};

/// An engine with its log.
struct Running {
    Running(const std::string& text, engine::Application& application)
        : config(complete_config(text)),
          engine(
              config,
              [&](const SessionSettings&, const fix::Dictionary*) -> engine::Application& { return application; },
              log) {
        engine.start();
    }
    static EngineConfig complete_config(const std::string& text) {
        EngineConfig config;
        read_engine_toml(text, "fix.toml", config);
        complete(config);
        return config;
    }
    [[nodiscard]] std::string said() {
        const std::lock_guard guard{lock};
        return lines;
    }

    std::mutex lock;
    std::string lines;
    service::Log log{service::Severity::debug, service::LogFormat::text, [this](const std::string& line) {
                         const std::lock_guard guard{lock};
                         lines += line + "\n";
                     }};
    EngineConfig config;
    FixEngine engine;
};

template <class Done>
[[nodiscard]] bool wait_for(FixEngine& engine, Done&& done) {
    for (int i = 0; i < 2'000 && !done(); ++i) engine.watch(std::chrono::milliseconds{10});
    return done();
}

TEST(SessionAllow, OnlyItsAddressesLogOnAndARefusalCostsNoNumber) {
    Counting house;
    Running venue{
        "[[acceptor]]\nlisten = '127.0.0.1:0'\n"
        "[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\nallow = ['127.0.0.7']\n",
        house};
    const auto port = venue.engine.listening().at(0);
    const auto desk_from = [&](const std::string& address) {
        return "[[session]]\nsender = 'DESK'\ntarget = 'HOUSE'\nhosts = ['" + port + "']\nreconnect_ms = 20\n" +
               "local_address = '" + address + "'\n";
    };
    {
        Counting stranger;
        Running desk{desk_from("127.0.0.8"), stranger};
        EXPECT_TRUE(wait_for(desk.engine, [&] { return stranger.closed.load() >= 2; }));
        EXPECT_EQ(stranger.logons.load(), 0);
        EXPECT_THAT(venue.said(), HasSubstr("127.0.0.8"));
        EXPECT_THAT(venue.said(), HasSubstr("not an address of this session"));
    }
    EXPECT_EQ(house.logons.load(), 0);
    EXPECT_EQ(venue.engine.sessions().at(0)->status().next_sender, 1U);
    EXPECT_EQ(venue.engine.sessions().at(0)->status().next_target, 1U);

    Counting partner;
    Running desk{desk_from("127.0.0.7"), partner};
    EXPECT_TRUE(wait_for(desk.engine, [&] { return partner.logons.load() == 1; }));
    EXPECT_TRUE(desk.engine.drain(std::chrono::seconds{20}));
}

}  // namespace
}  // namespace millpond::fixd
