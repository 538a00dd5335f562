// /api/session, /api/messages and POST /api/session/VERB of a FIX engine.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "service/http/get.hpp"
#include "service/json.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kAdminToken = "admin-secret-0123456789";
constexpr std::string_view kPageToken = "page-secret-01234567890";

class SessionPage : public ::testing::Test {
protected:
    SessionPage() {
        std::filesystem::create_directory(folder_);
        write("admin.token", kAdminToken);
        write("page.token", kPageToken);
    }
    ~SessionPage() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
    void write(const std::string& name, std::string_view text) const {
        std::ofstream{path(name)} << text;
        std::filesystem::permissions(path(name), std::filesystem::perms::owner_read);
    }
    [[nodiscard]] std::string top() const {
        return "admin_token_file = '" + path("admin.token") + "'\n[[web]]\nlisten = '127.0.0.1:0'\ntoken_file = '" +
               path("page.token") + "'\n" + kListen;
    }
    [[nodiscard]] static net::SocketAddress address_of(RunningEngine& running) {
        const auto url = running.engine().page_addresses().at(0);
        const auto begin = url.find("://") + 3;
        return net::SocketAddress::parse(url.substr(begin, url.size() - begin - 1));
    }
    [[nodiscard]] static Json::Value get(RunningEngine& running, const std::string& target) {
        return service::parse_json(http::get(address_of(running), target, std::string{kPageToken}));
    }
    /// The answer to a request, whatever its status.
    [[nodiscard]] static std::string answer(RunningEngine& running, const std::string& request,
                                            std::string_view token) {
        RawClient client{address_of(running).port()};
        client.send(fmt::format("{} HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n", request, token));
        EXPECT_TRUE(comes_true([&] { return client.receive(), client.over(); }));
        return client.received();
    }

private:
    const std::string folder_{::testing::TempDir() + test::scratch_name("session_page")};
};

TEST_F(SessionPage, TheRawLogHasTheMessagesOfBothDirectionsDecodedAndMasked) {
    RunningEngine house{"raw_log = '" + path("raw.log") + "'\n" + top() + waits_for("DESK")};
    RawClient desk{house.port()};
    desk.send(logon(1, "DESK", "554=swordfish|"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    desk.send(fix44("D", 2, "DESK", "HOUSE", "11=1|54=1|55=MSFT|"));
    Json::Value page;
    EXPECT_TRUE(comes_true([&] {
        page = get(house, "/api/messages?session=FIX.4.4:HOUSE-%3EDESK");
        return page["messages"].size() == 3;
    }));
    EXPECT_EQ(page["source"], "raw_log");
    const auto& order = page["messages"][0];
    EXPECT_EQ(order["direction"], "in");
    EXPECT_GT(order["time"].asInt64(), 0);
    EXPECT_EQ(order["message"]["type"], "D");
    EXPECT_EQ(order["message"]["name"], "NewOrderSingle");
    EXPECT_EQ(order["message"]["sequence"], 2);
    EXPECT_FALSE(order["message"]["masked"].asBool());
    bool has_side = false;
    for (const auto& field : order["message"]["fields"]) {
        if (field[0] != "54") continue;
        has_side = true;
        EXPECT_EQ(field[1], "Side");
        EXPECT_EQ(field[2], "1");
        EXPECT_THAT(field[3].asString(), Not(IsEmpty()));
        EXPECT_EQ(field[4], 0);
    }
    EXPECT_TRUE(has_side);
    EXPECT_EQ(page["messages"][1]["direction"], "out");
    const auto& first = page["messages"][2];
    EXPECT_EQ(first["message"]["name"], "Logon");
    EXPECT_TRUE(first["message"]["masked"].asBool());
    EXPECT_THAT(service::parse_json(http::get(address_of(house), "/api/messages?session=FIX.4.4:HOUSE-%3EDESK&limit=1",
                                              std::string{kPageToken}))["messages"]
                    .size(),
                1U);
    EXPECT_THAT(http::get(address_of(house), "/api/messages?session=FIX.4.4:HOUSE-%3EDESK", std::string{kPageToken}),
                Not(HasSubstr("swordfish")));
}

TEST_F(SessionPage, WithoutARawLogTheStoreHasTheMessagesThatWereSent) {
    RunningEngine house{top() + waits_for("DESK", "store = '" + path("desk.store") + "'\n")};
    RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    const auto page = get(house, "/api/messages?session=FIX.4.4:HOUSE-%3EDESK");
    EXPECT_EQ(page["source"], "store");
    ASSERT_EQ(page["messages"].size(), 1U);
    EXPECT_EQ(page["messages"][0]["direction"], "out");
    EXPECT_TRUE(page["messages"][0]["time"].isNull());
    EXPECT_EQ(page["messages"][0]["message"]["name"], "Logon");
    const auto session = get(house, "/api/session?name=FIX.4.4:HOUSE-%3EDESK");
    EXPECT_EQ(session["store"]["file"].asString(), path("desk.store"));
    EXPECT_GT(session["store"]["bytes"].asUInt64(), 0U);
}

TEST_F(SessionPage, ASessionHasItsScheduleHeartbeatGapsAndRejectsOfBothSides) {
    RunningEngine house{top() + waits_for("DESK", "start = '00:00'\nend = '00:00'\ndays = 'mon-sun'\n") +
                        waits_for("*", "max_dynamic = 2\n")};
    RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    desk.send(fix44("3", 2, "DESK", "HOUSE", "45=1|58=wrong venue|"));
    desk.send(fix44("0", 3, "DESK", "HOUSE", "112=a|9999=|"));  // tag without a value
    desk.send(fix44("D", 9, "DESK", "HOUSE", "11=2|"));
    Json::Value page;
    EXPECT_TRUE(comes_true([&] {
        page = get(house, "/api/session?name=FIX.4.4:HOUSE-%3EDESK");
        return page["gaps"]["count"].asUInt64() == 1;
    }));
    EXPECT_EQ(page["schedule"]["start"], "00:00:00");
    EXPECT_EQ(page["schedule"]["days"], "mon-sun");
    EXPECT_EQ(page["schedule"]["timezone"], "UTC");
    EXPECT_EQ(page["heartbeat_seconds"], 30);
    EXPECT_EQ(page["acceptor"], "lan");
    EXPECT_TRUE(page["store"]["file"].isNull());
    EXPECT_EQ(page["peer_rejects"]["newest"], "wrong venue");
    EXPECT_EQ(page["rejected"].size(), 1U);
    EXPECT_EQ(page["session"]["gaps"], 1);
    RawClient other{house.port()};
    other.send(logon(1, "OTHER"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("OTHER"); }));
    const auto dynamic = get(house, "/api/session?name=FIX.4.4:HOUSE-%3EOTHER");
    EXPECT_TRUE(dynamic["template"].asBool());
    EXPECT_TRUE(dynamic["schedule"].isNull());
    EXPECT_EQ(get(house, "/api/messages?session=FIX.4.4:HOUSE-%3EOTHER")["source"], "none");
    EXPECT_THAT(answer(house, "GET /api/session?name=NONE", kPageToken), HasSubstr("404 Not Found"));
    EXPECT_THAT(answer(house, "GET /api/messages?session=FIX.4.4:HOUSE-%3EDESK&limit=0", kPageToken),
                HasSubstr("400 Bad Request"));
}

TEST_F(SessionPage, AnActionNeedsTheAdminTokenAndIsAnEvent) {
    RunningEngine house{top() + waits_for("DESK")};
    const std::string logout = "POST /api/session/logout?session=FIX.4.4:HOUSE-%3EDESK&reason=lunch";
    EXPECT_THAT(answer(house, logout, kPageToken), HasSubstr("401"));
    EXPECT_TRUE(house.status("DESK").enabled);
    EXPECT_TRUE(get(house, "/api/health")["admin"].asBool());
    EXPECT_THAT(answer(house, logout, kAdminToken), HasSubstr("{\"done\":true}"));
    EXPECT_TRUE(comes_true([&] { return !house.status("DESK").enabled; }));
    EXPECT_THAT(answer(house, "POST /api/session/logon?session=FIX.4.4:HOUSE-%3EDESK", kAdminToken), HasSubstr("done"));
    EXPECT_TRUE(comes_true([&] { return house.status("DESK").enabled; }));
    EXPECT_THAT(answer(house, "POST /api/session/set-seq?session=FIX.4.4:HOUSE-%3EDESK&next_sender=7", kAdminToken),
                HasSubstr("done"));
    EXPECT_EQ(house.status("DESK").next_sender, 7U);
    EXPECT_THAT(answer(house, "POST /api/session/reset?session=FIX.4.4:HOUSE-%3EDESK", kAdminToken), HasSubstr("done"));
    EXPECT_TRUE(comes_true([&] { return house.status("DESK").next_sender == 1; }));
    house.engine().watch();
    std::string texts;
    const auto events = get(house, "/api/events?kind=admin");
    for (const auto& event : events["events"]) texts += event["text"].asString() + "\n";
    EXPECT_EQ(texts, "disabled: lunch\nenabled\nnumbers set: next out 7, next in unchanged\nreset requested\n");
    EXPECT_EQ(events["events"][0]["source"], "session 'FIX.4.4:HOUSE->DESK'");
    EXPECT_THAT(house.said(),
                HasSubstr("FIX.4.4:HOUSE->DESK: by an operator: numbers set: next out 7, next in unchanged"));
}

TEST_F(SessionPage, WrongActionsAreRefusedWithTheReason) {
    RunningEngine house{top() + waits_for("DESK")};
    RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    const auto post = [&](const std::string& target) {
        return answer(house, "POST /api/session/" + target, kAdminToken);
    };
    EXPECT_THAT(post("set-seq?session=DESK&next_sender=7"), HasSubstr("the session is connected: log it out first"));
    EXPECT_THAT(post("set-seq?session=DESK&next_sender=0"), HasSubstr("409"));
    EXPECT_THAT(post("reset?session=NONE"), HasSubstr("there is no session 'NONE'"));
    EXPECT_THAT(post("reset"), HasSubstr("400"));
    EXPECT_THAT(post("reset?session=DESK%09x"), HasSubstr("session has a control character"));
    EXPECT_THAT(post("reset?session=%4"), HasSubstr("400"));
    EXPECT_THAT(post("explode?session=DESK"), HasSubstr("404"));
    EXPECT_THAT(answer(house, "GET /api/session/reset?session=DESK", kAdminToken), HasSubstr("404"));
    EXPECT_TRUE(house.is_active("DESK"));
}

TEST_F(SessionPage, WithoutATokenNoMessagesAreShownAndNothingCanBeDone) {
    RunningEngine house{"[[web]]\nlisten = '127.0.0.1:0'\n" + kListen + waits_for("DESK")};
    EXPECT_THAT(answer(house, "GET /api/messages?session=FIX.4.4:HOUSE-%3EDESK", ""),
                AllOf(HasSubstr("403"), HasSubstr("messages need authentication")));
    EXPECT_EQ(house.engine().page({.path = "/api/messages", .query = "session=FIX.4.4:HOUSE-%3EDESK"}).type, "");
    EXPECT_EQ(get(house, "/api/session?name=FIX.4.4:HOUSE-%3EDESK")["session"]["name"], "FIX.4.4:HOUSE->DESK");
    EXPECT_FALSE(get(house, "/api/health")["admin"].asBool());
    EXPECT_THAT(answer(house, "POST /api/session/reset?session=DESK", ""), HasSubstr("405"));
}

}  // namespace
}  // namespace millpond::fixd
