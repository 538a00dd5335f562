#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>

#include "gateway/sinks/book_json.hpp"
#include "gateway/sinks/conflator.hpp"
#include "gateway/sinks/mqtt/link.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/topic.hpp"

namespace millpond::gateway::mqtt {

/// Publishes the newest quote of each instrument as feed::quote_json on its topic, and with a book_topic the best
/// levels as append_book_json on theirs. Trades, orders and states are filtered. After a Clear it publishes the void
/// quotes with empty sides and the empty books; after a Gap or a loss, the quotes and books that became incomplete.
/// While there is no connection, or `window` messages are in flight, quotes are conflated or wait in the ring,
/// depending on the mode. On each new connection it publishes all current quotes and books first, because the broker
/// may have lost them.
///
/// Each message of a book has all its best levels. Books are sent in batches with a pause of kBookInterval between
/// them, each instrument once in a batch: the levels that a later group replaces meanwhile count as conflated. The
/// sink filters the levels of feeds whose depth is below book_depth.
///
/// Memory:  a quote, its names and its topic for each instrument; `window` messages; with a book_topic, that of
///          market::Books and 64 bytes and a topic for each instrument.
class MqttSink final : public Sink {
public:
    MqttSink(const Settings& settings, const std::string& password, service::LogFunction log);

    [[nodiscard]] const Counters& counters() const noexcept { return link_->counters(); }

    [[nodiscard]] std::size_t available() const noexcept override;
    [[nodiscard]] Delivery mode() const noexcept override { return mode_; }
    void open(const market::RingReader& ring) override;
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status&, std::uint64_t) override {}
    void board(const feed::Level& level, std::uint64_t number) override;
    void observe(const feed::Quote& quote, std::uint64_t number) override { update_book(quote, number); }
    Admission on(const feed::Quote& quote, std::uint64_t number) override;
    Admission on(const feed::Trade& trade, std::uint64_t number) override;
    Admission on(const feed::Level& level, std::uint64_t number) override;
    Admission on(const feed::TradeBreak&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Status&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Gap& gap, std::uint64_t number) override;
    Admission on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void begin_drain() override { draining_ = true; }
    void finish() override { step(0); }
    [[nodiscard]] std::uint64_t held() const noexcept override {
        return link_->enqueued_events() - answered_.events + held_for_quotes_ + held_for_due_books_ + held_for_batch_ +
               waiting_levels_;
    }
    [[nodiscard]] std::uint64_t conflated_events() const noexcept override { return conflated_levels_; }
    [[nodiscard]] std::uint64_t refused_events() const noexcept override { return answered_.refused; }
    [[nodiscard]] std::string_view type() const noexcept override { return "mqtt"; }
    void visit_metrics(const MetricVisitor& visit) const override { counters().visit(visit); }
    [[nodiscard]] SinkHealth health() const noexcept override {
        return {.connected = counters().connected.read() != 0,
                .failures = counters().unfinished_scans.read(),
                .refused_messages = counters().refused.read()};
    }

private:
    /// What is known of an instrument's book beside its levels.
    struct Book {
        std::string topic{};
        BookStamp stamp{};
        std::uint32_t waiting_levels{0};  ///< Level events since it was sent last.
        bool due{false};
        std::optional<bool> sent_as_complete{};  ///< As it was sent last; nullopt: it was not sent yet.
    };
    struct Instrument {
        feed::JsonSymbol symbol;
        std::string topic;
        feed::Quote quote{};
        std::uint64_t number{0};  ///< Number of the quote's ring entry; 0 if there was none.
        Book book{};
    };

    void store(const feed::Quote& quote, std::uint64_t number);
    void publish(const feed::Quote& quote, std::uint64_t number, bool event);
    /// Repeats the complete quotes of the channel, or of all channels, as incomplete ones. False if there are none.
    bool mark_incomplete(std::optional<std::uint16_t> channel);
    /// Result for a Clear or Gap: kept until the quotes and books that it changes are sent, or filtered if it
    /// changes none.
    Admission keep_if(bool changes_quotes, bool changes_books) noexcept;

    /// Whether the channel's feed sends the levels of books.
    [[nodiscard]] bool sends_levels(std::uint16_t channel) const;
    /// Applies an event to the book of its instrument, which is due if a group ends with it.
    template <class Event>
    void update_book(const Event& event, std::uint64_t number);
    void set_book_due(feed::InstrumentId id);
    /// Makes the books of the channel due, or of all channels, that were sent as complete ones or have changed
    /// since. False if there are none.
    bool repeat_complete_books(std::optional<std::uint16_t> channel);
    /// Sends the books of the batch, and begins the next one when it is time.
    void publish_books(std::int64_t monotonic_ns);
    void publish_book(Instrument& instrument, const market::Book* book);

    Delivery mode_;
    std::uint32_t book_depth_;
    TopicTemplate topic_;
    std::optional<TopicTemplate> book_topic_;
    std::deque<Instrument> instruments_;  // a deque, so that topics do not move
    Conflator due_;                       // quotes to repeat, which are not events
    std::uint64_t held_for_quotes_{0};    // Clears and Gaps whose quotes are in due_
    const market::RingReader* ring_{nullptr};
    std::optional<market::Books> books_;         // with a book_topic
    std::vector<feed::InstrumentId> due_books_;  // for the next batch
    std::deque<feed::InstrumentId> book_batch_;  // to be sent now
    std::int64_t next_batch_ns_{0};
    std::uint64_t held_for_due_books_{0};  // Clears and Gaps whose books are in due_books_
    std::uint64_t held_for_batch_{0};      // those whose books are in book_batch_
    std::uint64_t waiting_levels_{0};      // sum over all instruments
    std::uint64_t conflated_levels_{0};
    bool draining_{false};
    Link::Answered answered_;  // state at the last step, so that held and refused add up
    std::uint64_t seen_connections_{0};
    bool needs_wake_{false};
    std::unique_ptr<Link> link_;  // declared last, because it uses the members above
};

}  // namespace millpond::gateway::mqtt
