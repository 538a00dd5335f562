// client_quickfix PORT: buys 100 MSFT of the venue on this machine and prints the fill.
// client_millpond.cpp is the same program with millpond.
#include <cstdlib>
#include <future>
#include <iostream>
#include <sstream>
#include <string>

#include <quickfix/Application.h>
#include <quickfix/FixValues.h>
#include <quickfix/MessageStore.h>
#include <quickfix/Session.h>
#include <quickfix/SocketInitiator.h>
#include <quickfix/fix44/ExecutionReport.h>
#include <quickfix/fix44/NewOrderSingle.h>

namespace {

class Client : public FIX::NullApplication {
public:
    void onLogon(const FIX::SessionID& session) override {
        FIX44::NewOrderSingle order(FIX::ClOrdID("1"), FIX::Side(FIX::Side_BUY), FIX::TransactTime(3),
                                    FIX::OrdType(FIX::OrdType_LIMIT));
        order.set(FIX::Symbol("MSFT"));
        order.set(FIX::OrderQty(100));
        order.set(FIX::Price(415.25));
        FIX::Session::sendToTarget(order, session);
    }

    void fromApp(const FIX::Message& message, const FIX::SessionID&) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat,
                                                                           FIX::IncorrectTagValue,
                                                                           FIX::UnsupportedMessageType) override {
        if (message.getHeader().getField(FIX::FIELD::MsgType) != FIX::MsgType_ExecutionReport) {
            throw FIX::UnsupportedMessageType();
        }
        filled.set_value(message.getField(FIX::FIELD::LastQty) + " " + message.getField(FIX::FIELD::Symbol) + " at " +
                         message.getField(FIX::FIELD::LastPx));
    }

    std::promise<std::string> filled;
};

}  // namespace

int main(int argc, char** argv) {
    std::istringstream settings_text(
        "[DEFAULT]\nConnectionType=initiator\nStartTime=00:00:00\nEndTime=00:00:00\nUseDataDictionary=N\nHeartBtInt="
        "30\n"
        "ReconnectInterval=1\n[SESSION]\nBeginString=FIX.4.4\nSenderCompID=DESK\nTargetCompID=VENUE\n"
        "SocketConnectHost=127.0.0.1\nSocketConnectPort=" +
        std::string(argc > 1 ? argv[1] : "5001") + "\n");
    const FIX::SessionSettings settings(settings_text);
    FIX::MemoryStoreFactory stores;
    Client client;
    FIX::SocketInitiator initiator(client, stores, settings);
    initiator.start();
    auto fill = client.filled.get_future();
    const bool came = fill.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    std::cout << (came ? "filled " + fill.get() : "no fill") << "\n";
    initiator.stop();
    return came ? EXIT_SUCCESS : EXIT_FAILURE;
}
