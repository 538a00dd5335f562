#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <quickfix/Application.h>
#include <quickfix/Session.h>
#include <quickfix/SocketAcceptor.h>
#include <quickfix/SocketInitiator.h>
#include <quickfix/fix44/NewOrderSingle.h>

#include <millpond/quickfix/store_factory.hpp>

#include "bench/rivals/free_port.hpp"

namespace millpond {
namespace quickfix {
namespace {

/// Polls until the condition is true, for a minute at most.
bool wait_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// Records the ids of received orders, with a '+' for possible duplicates.
class Notes : public FIX::NullApplication {
public:
    void onLogon(const FIX::SessionID&) override { set_on(true); }
    void onLogout(const FIX::SessionID&) override { set_on(false); }
    void fromApp(const FIX::Message& message, const FIX::SessionID&) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat,
                                                                           FIX::IncorrectTagValue,
                                                                           FIX::UnsupportedMessageType) override {
        FIX::PossDupFlag possible(false);
        message.getHeader().getFieldIfSet(possible);
        const std::lock_guard<std::mutex> lock(mutex_);
        orders_.push_back(message.getField(11) + (possible ? "+" : ""));
    }
    bool is_on() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return on_;
    }
    std::vector<std::string> orders() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return orders_;
    }

private:
    void set_on(bool on) {
        const std::lock_guard<std::mutex> lock(mutex_);
        on_ = on;
    }
    std::mutex mutex_;
    bool on_ = false;
    std::vector<std::string> orders_;
};

FIX::SessionSettings settings(const char* type, const char* sender, const char* target, int port) {
    std::stringstream text;
    text << "[DEFAULT]\nConnectionType=" << type << "\nStartTime=00:00:00\nEndTime=00:00:00\nHeartBtInt=30\n"
         << "UseDataDictionary=N\nReconnectInterval=1\nSocketReuseAddress=Y\nSocketAcceptPort=" << port
         << "\nSocketConnectHost=127.0.0.1\nSocketConnectPort=" << port << "\n[SESSION]\nBeginString=FIX.4.4\n"
         << "SenderCompID=" << sender << "\nTargetCompID=" << target << "\n";
    return FIX::SessionSettings(text);
}

class QuickFixStore : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        char name[] = "/tmp/millpond-quickfix-XXXXXX";
        folder_ = mkdtemp(name);
        options_.folder = std::string(GetParam()) == "file" ? folder_ : "";
        options_.data_bytes = std::size_t{1} << 20U;
    }
    void TearDown() override {
        for (const auto* end : {".store", ".store.1", ".store.2", ".store.3"}) {
            unlink((folder_ + "/FIX.4.4-BUY--SELL" + end).c_str());
        }
        rmdir(folder_.c_str());
    }
    static void send_order(const std::string& id) {
        FIX44::NewOrderSingle order;
        order.set(FIX::ClOrdID(id));
        order.set(FIX::Symbol("MSFT"));
        ASSERT_TRUE(FIX::Session::sendToTarget(order, FIX::SessionID("FIX.4.4", "BUY", "SELL")));
    }

    std::string folder_;
    StoreOptions options_;
};

TEST_P(QuickFixStore, ASessionLogsOnSendsOrdersAndAnswersAResendRequestFromOurStore) {
    const int port = bench::free_port();
    const FIX::SessionID buy("FIX.4.4", "BUY", "SELL");
    const FIX::SessionID sell("FIX.4.4", "SELL", "BUY");
    Notes sender;
    Notes receiver;
    FIX::MemoryStoreFactory theirs;
    StoreFactory ours(options_);
    const auto accept = settings("acceptor", "SELL", "BUY", port);
    const auto initiate = settings("initiator", "BUY", "SELL", port);
    FIX::SocketAcceptor acceptor(receiver, theirs, accept);
    FIX::SocketInitiator initiator(sender, ours, initiate);
    acceptor.start();
    initiator.start();
    ASSERT_TRUE(wait_until([&] { return sender.is_on() && receiver.is_on(); }));
    for (const auto* id : {"a", "b", "c"}) send_order(id);
    ASSERT_TRUE(wait_until([&] { return receiver.orders().size() == 3; }));
    // The receiver believes that it received only the Logon; the next order shows it the gap.
    FIX::Session::lookupSession(sell)->setNextTargetMsgSeqNum(2);
    send_order("d");
    ASSERT_TRUE(wait_until([&] { return receiver.orders().size() >= 7; }));
    auto orders = receiver.orders();
    // QuickFIX delivers the last order from its queue or from the resend, whichever is first.
    EXPECT_EQ(orders.back().front(), 'd');
    orders.pop_back();
    EXPECT_EQ(orders, (std::vector<std::string>{"a", "b", "c", "a+", "b+", "c+"}));
    EXPECT_EQ(FIX::Session::lookupSession(buy)->getExpectedSenderNum(), 6);
    initiator.stop();
    acceptor.stop();
}

TEST_P(QuickFixStore, KeepsMessagesNumbersAndTimeAsQuickFixExpectsOfAStore) {
    const FIX::SessionID buy("FIX.4.4", "BUY", "SELL");
    StoreFactory factory(options_);
    auto* store = factory.create(buy);
    EXPECT_EQ(store->getNextSenderMsgSeqNum(), 1);
    EXPECT_EQ(store->getNextTargetMsgSeqNum(), 1);
    const std::string text(60, 'x');
    for (int i = 1; i <= 5; ++i) {
        EXPECT_TRUE(store->set(i, text + std::to_string(i)));
        EXPECT_EQ(store->getNextSenderMsgSeqNum(), i);  // set does not count the message
        store->incrNextSenderMsgSeqNum();
        store->incrNextTargetMsgSeqNum();
    }
    EXPECT_EQ(store->getNextSenderMsgSeqNum(), 6);
    std::vector<std::string> found;
    store->get(2, 4, found);
    EXPECT_EQ(found, (std::vector<std::string>{text + "2", text + "3", text + "4"}));
    store->get(3, 2, found);
    EXPECT_TRUE(found.empty());
    const auto created = store->getCreationTime();
    factory.destroy(store);
    if (!options_.folder.empty()) {
        store = factory.create(buy);
        EXPECT_EQ(store->getNextSenderMsgSeqNum(), 6);
        EXPECT_EQ(store->getNextTargetMsgSeqNum(), 6);
        EXPECT_EQ(store->getCreationTime(), created);
        store->get(5, 5, found);
        EXPECT_EQ(found, std::vector<std::string>{text + "5"});
        store->setNextSenderMsgSeqNum(3);
        store->get(1, 9, found);
        EXPECT_EQ(found.size(), 2U);
        store->reset();
        EXPECT_EQ(store->getNextSenderMsgSeqNum(), 1);
        factory.destroy(store);
    }
}

INSTANTIATE_TEST_SUITE_P(In, QuickFixStore, testing::Values("memory", "file"),
                         [](const testing::TestParamInfo<const char*>& where) { return std::string(where.param); });

}  // namespace
}  // namespace quickfix
}  // namespace millpond
