#include "bench/rivals/quickfix_peer.hpp"

#include <atomic>
#include <sstream>
#include <utility>

#include <quickfix/Application.h>
#include <quickfix/FileStore.h>
#include <quickfix/Message.h>
#include <quickfix/MessageStore.h>
#include <quickfix/Session.h>
#include <quickfix/SessionSettings.h>
#include <quickfix/SocketAcceptor.h>
#include <quickfix/SocketInitiator.h>

namespace millpond {
namespace bench {
namespace {

std::string settings_of(const QuickFixPeer::Options& options) {
    std::ostringstream text;
    text << "[DEFAULT]\nConnectionType=" << (options.initiates ? "initiator" : "acceptor")
         << "\nStartTime=00:00:00\nEndTime=00:00:00\nUseDataDictionary=N\nSocketNodelay=Y\nHeartBtInt=30"
         << "\nReconnectInterval=1\nFileStorePath=" << options.folder << "\nSocketReuseAddress=Y"
         << "\n[SESSION]\nBeginString=FIX.4.4\nSenderCompID=" << options.sender << "\nTargetCompID=" << options.target
         << "\nSocketConnectHost=127.0.0.1\nSocketConnectPort=" << options.port << "\nSocketAcceptPort=" << options.port
         << "\n";
    return text.str();
}

std::string text_of(const FIX::FieldMap& map, int tag) { return map.isSetField(tag) ? map.getField(tag) : ""; }

std::uint64_t number_of(const FIX::FieldMap& map, int tag) {
    const auto text = text_of(map, tag);
    return text.empty() ? 0 : std::stoull(text);
}

}  // namespace

class QuickFixPeer::Side : public FIX::Application {
public:
    Side(const Options& options, std::function<void(const Received&)> on_message)
        : answers_(options.answers),
          on_message_(std::move(on_message)),
          id_("FIX.4.4", options.sender, options.target),
          text_(settings_of(options)),
          settings_(text_) {
        if (options.folder.empty()) {
            stores_.reset(new FIX::MemoryStoreFactory());
        } else {
            stores_.reset(new FIX::FileStoreFactory(settings_));
        }
        if (options.initiates) {
            initiator_.reset(new FIX::SocketInitiator(*this, *stores_, settings_));
            initiator_->start();
        } else {
            acceptor_.reset(new FIX::SocketAcceptor(*this, *stores_, settings_));
            acceptor_->start();
        }
    }
    ~Side() {
        if (initiator_) initiator_->stop(true);
        if (acceptor_) acceptor_->stop(true);
    }

    bool logged_on() const { return logged_on_.load(); }

    bool send_order(std::uint64_t id) {
        FIX::Message order;
        order.getHeader().setField(35, "D");
        order.setField(11, std::to_string(id));
        order.setField(21, "1");
        order.setField(38, "100");
        order.setField(40, "2");
        order.setField(44, "101.25");
        order.setField(54, "1");
        order.setField(55, "MILL");
        order.setField(59, "0");
        order.setField(60, "20260103-12:00:00.000");
        return FIX::Session::sendToTarget(order, id_);
    }

    void expect(std::uint64_t number) {
        FIX::Session::lookupSession(id_)->setNextTargetMsgSeqNum(static_cast<int>(number));
    }

    void onCreate(const FIX::SessionID&) override {}
    void onLogon(const FIX::SessionID&) override { logged_on_ = true; }
    void onLogout(const FIX::SessionID&) override { logged_on_ = false; }
    void toAdmin(FIX::Message&, const FIX::SessionID&) override {}
    void toApp(FIX::Message&, const FIX::SessionID&) throw(FIX::DoNotSend) override {}
    void fromAdmin(const FIX::Message&, const FIX::SessionID&) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat,
                                                                     FIX::IncorrectTagValue,
                                                                     FIX::RejectLogon) override {}
    void fromApp(const FIX::Message& message,
                 const FIX::SessionID& id) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat, FIX::IncorrectTagValue,
                                                 FIX::UnsupportedMessageType) override {
        Received received;
        received.type = text_of(message.getHeader(), 35);
        received.id = number_of(message, 11);
        received.number = number_of(message.getHeader(), 34);
        received.poss_dup = text_of(message.getHeader(), 43) == "Y";
        if (on_message_) on_message_(received);
        if (answers_ && received.type == "D") answer(message, id);
    }

private:
    static void answer(const FIX::Message& order, const FIX::SessionID& id) {
        FIX::Message report;
        report.getHeader().setField(35, "8");
        const auto number = order.getField(11);
        report.setField(37, number);
        report.setField(11, number);
        report.setField(17, number);
        report.setField(150, "0");
        report.setField(39, "0");
        for (const int same : {38, 44, 54, 55, 60}) report.setField(same, order.getField(same));
        report.setField(151, "100");
        report.setField(14, "0");
        report.setField(6, "0");
        FIX::Session::sendToTarget(report, id);
    }

    bool answers_;
    std::function<void(const Received&)> on_message_;
    FIX::SessionID id_;
    std::atomic<bool> logged_on_{false};
    std::istringstream text_;
    FIX::SessionSettings settings_;
    std::unique_ptr<FIX::MessageStoreFactory> stores_;
    std::unique_ptr<FIX::SocketInitiator> initiator_;
    std::unique_ptr<FIX::SocketAcceptor> acceptor_;
};

QuickFixPeer::QuickFixPeer(const Options& options, std::function<void(const Received&)> on_message)
    : side_(new Side(options, std::move(on_message))) {}
QuickFixPeer::~QuickFixPeer() = default;
bool QuickFixPeer::logged_on() const { return side_->logged_on(); }
bool QuickFixPeer::send_order(std::uint64_t id) { return side_->send_order(id); }
void QuickFixPeer::expect(std::uint64_t number) { side_->expect(number); }

}  // namespace bench
}  // namespace millpond
