// client_millpond PORT: buys 100 MSFT of the venue on this machine and prints the fill.
// client_quickfix.cpp is the same program with QuickFIX.
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <string>

#include <millpond/core/clock.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/fix/dictionary.hpp>

namespace engine = millpond::engine;
namespace fix = millpond::fix;

namespace {

class Client final : public engine::Application {
public:
    void on_logon(engine::SessionLink& link) override {
        const bool sent = link.send("D", [](fix::Writer& writer) {
            writer.add<fix::tag::kClOrdId>("1").add<38>(100).add<40>('2').add<44>("415.25").add<54>('1');
            writer.add<55>("MSFT").add_timestamp(60, millpond::core::utc_nanos(), fix::TimePrecision::millis);
        });
        if (!sent) link.logout("the order cannot be sent");
    }

    fix::Verdict on_message(engine::SessionLink&, const fix::Message& message) override {
        if (message.msg_type() != "8") return fix::Verdict::unsupported_message_type;
        const auto quantity = message.text(32);
        const auto symbol = message.text(55);
        const auto price = message.text(31);
        if (!quantity || !symbol || !price) return fix::Verdict::conditionally_required_field_missing;
        filled.set_value(std::string{*quantity} + " " + std::string{*symbol} + " at " + std::string{*price});
        return fix::Verdict::accepted;
    }

    std::promise<std::string> filled;
};

}  // namespace

int main(int argc, char** argv) {
    const auto dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    Client client;
    engine::IoThread io;
    engine::Initiator initiator{io};
    initiator.add({.config = {.sender_comp_id = "DESK", .target_comp_id = "VENUE"}, .dictionary = &dictionary},
                  {.hosts = {{"127.0.0.1", static_cast<std::uint16_t>(std::atoi(argc > 1 ? argv[1] : "5001"))}}},
                  client);
    io.start();
    auto fill = client.filled.get_future();
    const bool came = fill.wait_for(std::chrono::seconds{20}) == std::future_status::ready;
    std::cout << (came ? "filled " + fill.get() : "no fill") << "\n";
    return io.drain(std::chrono::seconds{5}) && came ? EXIT_SUCCESS : EXIT_FAILURE;
}
