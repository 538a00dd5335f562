// venue_quickfix PORT: fills the orders of a client on this machine, and ends when that logs out.
// venue_millpond.cpp is the same program with millpond.
#include <cstdlib>
#include <future>
#include <iostream>
#include <sstream>
#include <string>

#include <quickfix/Application.h>
#include <quickfix/FixValues.h>
#include <quickfix/MessageStore.h>
#include <quickfix/Session.h>
#include <quickfix/SocketAcceptor.h>
#include <quickfix/fix44/ExecutionReport.h>
#include <quickfix/fix44/NewOrderSingle.h>

namespace {

class Venue : public FIX::NullApplication {
public:
    void onLogon(const FIX::SessionID&) override { logged_on_ = true; }
    void onLogout(const FIX::SessionID&) override {
        if (logged_on_) left.set_value();
        logged_on_ = false;
    }

    void fromApp(const FIX::Message& message,
                 const FIX::SessionID& session) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat,
                                                      FIX::IncorrectTagValue, FIX::UnsupportedMessageType) override {
        if (message.getHeader().getField(FIX::FIELD::MsgType) != FIX::MsgType_NewOrderSingle) {
            throw FIX::UnsupportedMessageType();
        }
        FIX::ClOrdID id;
        FIX::Side side;
        FIX::Symbol symbol;
        FIX::OrderQty quantity;
        FIX::Price price;
        message.getField(id);
        message.getField(side);
        message.getField(symbol);
        message.getField(quantity);
        message.getField(price);
        FIX44::ExecutionReport report(FIX::OrderID(id.getString()), FIX::ExecID(id.getString()),
                                      FIX::ExecType(FIX::ExecType_TRADE), FIX::OrdStatus(FIX::OrdStatus_FILLED), side,
                                      FIX::LeavesQty(0), FIX::CumQty(quantity), FIX::AvgPx(price));
        report.set(id);
        report.set(symbol);
        report.set(FIX::LastQty(quantity));
        report.set(FIX::LastPx(price));
        FIX::Session::sendToTarget(report, session);
    }

    std::promise<void> left;

private:
    bool logged_on_{false};
};

}  // namespace

int main(int argc, char** argv) {
    std::istringstream settings_text(
        "[DEFAULT]\nConnectionType=acceptor\nStartTime=00:00:00\nEndTime=00:00:00\nUseDataDictionary=N\n"
        "SocketReuseAddress=Y\n[SESSION]\nBeginString=FIX.4.4\nSenderCompID=VENUE\nTargetCompID="
        "DESK\nSocketAcceptPort=" +
        std::string(argc > 1 ? argv[1] : "5001") + "\n");
    const FIX::SessionSettings settings(settings_text);
    FIX::MemoryStoreFactory stores;
    Venue venue;
    FIX::SocketAcceptor acceptor(venue, stores, settings);
    acceptor.start();
    std::cout << "listening" << std::endl;
    venue.left.get_future().wait();
    acceptor.stop();
    return EXIT_SUCCESS;
}
