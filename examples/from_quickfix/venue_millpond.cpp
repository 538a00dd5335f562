// venue_millpond PORT: fills the orders of a client on this machine, and ends when that logs out.
// venue_quickfix.cpp is the same program with QuickFIX.
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>

#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/fix/dictionary.hpp>

namespace engine = millpond::engine;
namespace fix = millpond::fix;

namespace {

class Venue final : public engine::Application {
public:
    void on_logout(engine::SessionLink&, std::string_view) override { left.set_value(); }

    fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override {
        if (message.msg_type() != "D") return fix::Verdict::unsupported_message_type;
        const auto id = message.text(fix::tag::kClOrdId);
        const auto side = message.text(54);
        const auto symbol = message.text(55);
        const auto quantity = message.text(38);
        const auto price = message.text(44);
        if (!id || !side || !symbol || !quantity || !price) return fix::Verdict::conditionally_required_field_missing;
        const bool sent = link.send("8", [&](fix::Writer& writer) {
            writer.add<6>(*price).add<fix::tag::kClOrdId>(*id).add<14>(*quantity).add<17>(*id);
            writer.add<31>(*price).add<32>(*quantity).add<37>(*id).add<39>('2').add<54>(*side).add<55>(*symbol);
            writer.add<150>('F').add<151>(0);
        });
        return sent ? fix::Verdict::accepted : fix::Verdict::application_not_available;
    }

    std::promise<void> left;
};

}  // namespace

int main(int argc, char** argv) {
    const auto dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    Venue venue;
    engine::IoThread io;
    engine::Acceptor acceptor{io, {.port = static_cast<std::uint16_t>(std::atoi(argc > 1 ? argv[1] : "5001"))}};
    acceptor.add({.config = {.sender_comp_id = "VENUE", .target_comp_id = "DESK"}, .dictionary = &dictionary}, venue);
    io.start();
    std::cout << "listening" << std::endl;
    venue.left.get_future().wait();
    return io.drain(std::chrono::seconds{5}) ? EXIT_SUCCESS : EXIT_FAILURE;
}
