#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>

#include "gateway/json_lines/client_table.hpp"
#include "gateway/json_lines/counters.hpp"
#include "gateway/json_lines/event_lines.hpp"
#include "gateway/json_lines/json_lines_settings.hpp"
#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/replays.hpp"
#include "gateway/json_lines/snapshot.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/client_list.hpp"
#include "gateway/sinks/sink.hpp"
#include "service/log_function.hpp"

namespace millpond::gateway::json_lines {

/// A sink that sends JSON lines to clients: EventLines makes them.
///
/// Threads: like Sink.
class JsonLinesSink : public Sink {
public:
    /// type: as type(). Throws service::OutOfMemory that names the backlog.
    JsonLinesSink(const JsonLinesSettings& settings, std::string_view type, service::LogFunction log);

    [[nodiscard]] std::size_t available() const noexcept override { return kRound; }
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    [[nodiscard]] bool needs_orders() const noexcept override { return true; }
    void open(const market::RingReader& ring) override;
    void name(feed::InstrumentId, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) override {
        events_.name(venue, symbol, decimals);
    }
    void board(const feed::Quote& quote, std::uint64_t number) override { events_.board(quote, number); }
    void board(const feed::Status& status, std::uint64_t number) override { events_.board(status, number); }
    void board(const feed::Level& level, std::uint64_t number) override { events_.board(level, number); }
    void board(const feed::BestVenues& venues, std::uint64_t) override { events_.board(venues); }
    Admission on(const feed::Quote& quote, std::uint64_t number) override {
        if (has_missed_venues_) [[unlikely]]
            find_venues(quote, number);
        return pass_on(quote, number);
    }
    Admission on(const feed::Trade& trade, std::uint64_t number) override { return pass_on(trade, number); }
    Admission on(const feed::TradeBreak& broken, std::uint64_t number) override { return pass_on(broken, number); }
    Admission on(const feed::Order& order, std::uint64_t number) override { return events_.on(order, number); }
    Admission on(const feed::Level& level, std::uint64_t number) override { return events_.on(level, number); }
    Admission on(const feed::Imbalance& imbalance, std::uint64_t number) override { return pass_on(imbalance, number); }
    Admission on(const feed::Band& band, std::uint64_t number) override { return pass_on(band, number); }
    Admission on(const feed::Definition& definition, std::uint64_t number) override {
        return pass_on(definition, number);
    }
    Admission on(const feed::BestVenues& venues, std::uint64_t number) override {
        events_.on(venues, number);
        return Admission::filtered;
    }
    Admission on(const feed::Status& status, std::uint64_t number) override { return pass_on(status, number); }
    Admission on(const feed::Gap& gap, std::uint64_t number) override { return pass_on(gap, number); }
    Admission on(const feed::Clear& clear, std::uint64_t number) override { return pass_on(clear, number); }
    void missed(std::uint64_t first, std::uint64_t last) override {
        events_.missed(first, last);
        has_missed_venues_ = ring_ != nullptr && ring_->board().has_best_venues();
    }
    [[nodiscard]] std::uint64_t held() const noexcept override { return 0; }
    [[nodiscard]] std::shared_ptr<ClientList> client_list() const noexcept override { return clients_.list(); }
    void note_reload() override { close_reason_ = "a reload closes this sink; connect again"; }

protected:
    /// Reason in the final message to each client.
    [[nodiscard]] std::string_view close_reason() const noexcept { return close_reason_; }
    [[nodiscard]] const LineLog& lines() const noexcept { return events_.log(); }
    [[nodiscard]] const Snapshot& snapshot() const noexcept { return events_.snapshot(); }
    [[nodiscard]] Source source() noexcept {
        return {events_.log(), events_.snapshot(), events_.books(), &replays_, entitlement_};
    }
    /// peer: address of the client.
    void join(Subscriber& subscriber, std::string_view peer) {
        events_.join(subscriber);
        clients_.add(subscriber, peer);
    }
    void leave(const Subscriber& subscriber) {
        events_.leave(subscriber);
        clients_.remove(subscriber);
    }
    /// Returns the clients that an operator disconnects, to be ended with kDisconnected. Call it in each step.
    [[nodiscard]] std::vector<Subscriber*> update_clients(std::int64_t now_ns) {
        return clients_.update(lines(), now_ns);
    }
    static constexpr std::string_view kDisconnected = ClientTable::kDisconnected;
    void find_slowest() noexcept { events_.find_slowest(); }
    /// Lets replays read up to the newest event; call it in each step. Returns true if clients may have a part of a
    /// replay to send.
    [[nodiscard]] bool poll_replays() noexcept;
    [[nodiscard]] const Replays& replays() const noexcept { return replays_; }
    [[nodiscard]] SinkHealth health_of(const Counters& counters) const noexcept {
        auto health = counters.health();
        health.replays = replays_.active();
        health.replays_failed = replays_.failed();
        return health;
    }

private:
    static constexpr std::size_t kRound = 1'024;  ///< Events between two polls of the sockets.

    template <class Event>
    Admission pass_on(const Event& event, std::uint64_t number) {
        events_.on(event, number);
        return Admission::kept;
    }

    /// Finds the venues of a composite's quote on the board, after they were missed.
    void find_venues(const feed::Quote& quote, std::uint64_t number);

    EventLines events_;
    Entitlement entitlement_;
    ClientTable clients_;
    Replays replays_;
    const market::RingReader* ring_{nullptr};
    bool has_missed_venues_{false};
    std::uint64_t board_end_{0};  // newest ring entry that the board may have included when the sink joined
    std::string_view close_reason_{"the gateway is stopping"};
};

}  // namespace millpond::gateway::json_lines
