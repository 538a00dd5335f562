#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/async_sender.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/fix/dictionary.hpp>

namespace millpond::engine {

/// The test message.
struct Order {
    std::uint64_t id{0};
    std::int64_t quantity{0};
    std::string_view text{};
};

struct OrderEncoder {
    [[nodiscard]] std::string_view msg_type(const Order&) const { return "D"; }
    [[nodiscard]] bool encode(const Order& order, fix::Writer& writer) const {
        writer.add<fix::tag::kClOrdId>(order.id).add<38>(order.quantity);
        if (!order.text.empty()) writer.add<fix::tag::kText>(order.text);
        return order.quantity >= 0;
    }
};

/// Keeps the ids of received orders, and the session's events.
class Counterparty : public Application {
public:
    fix::Verdict on_message(SessionLink& link, const fix::Message& message) override {
        orders.push_back(message.unsigned_integer(fix::tag::kClOrdId).value_or(0));
        if (on_order) on_order(link, message);
        return fix::Verdict::accepted;
    }
    void on_logon(SessionLink&) override { ++logons; }
    void on_logout(SessionLink&, std::string_view) override { ++logouts; }
    void on_closed(SessionLink&, Closed reason) override { closed.push_back(reason); }

    std::vector<std::uint64_t> orders;
    std::vector<Closed> closed;
    std::function<void(SessionLink&, const fix::Message&)> on_order;
    int logons{0};
    int logouts{0};
};

/// Polls `io` until `done()`. Returns false after twenty seconds.
template <class Done>
bool run_until(IoThread& io, Done&& done) {
    const auto end = core::monotonic_nanos() + 20'000'000'000;
    while (!done()) {
        if (core::monotonic_nanos() > end) return false;
        io.poll(std::chrono::milliseconds{2});
    }
    return true;
}

/// HOUSE accepts, DESK connects; both on one I/O thread that the test drives.
struct EnginePair {
    explicit EnginePair(SessionLimits limits = {}, IoThread::Options io_options = {}, StoreOptions store = {})
        : io(std::move(io_options)),
          accepted(&acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "DESK"},
                                  .dictionary = &dictionary,
                                  .limits = limits},
                                 house)),
          initiated(&initiator.add(
              {.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE"},
               .dictionary = &dictionary,
               .store = std::move(store),
               .limits = limits},
              {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = {.first = std::chrono::milliseconds{10}}},
              desk)) {}

    [[nodiscard]] bool log_on() {
        return run_until(io, [&] { return house.logons == 1 && desk.logons == 1; });
    }

    fix::Dictionary dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house;
    Counterparty desk;
    IoThread io;
    Acceptor acceptor{io, {}};
    Initiator initiator{io};
    SessionHandle* accepted;
    SessionHandle* initiated;
};

}  // namespace millpond::engine
