#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/journal/journal_reader.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/kafka/position_file.hpp"
#include "gateway/sinks/kafka/producer.hpp"
#include "gateway/sinks/kafka/value.hpp"
#include "gateway/sinks/last_of_kind.hpp"
#include "gateway/sinks/topic.hpp"

namespace millpond::gateway::kafka {

/// Sends every record of a journal to Kafka, from the last delivered position on. No record that the journal still has
/// is lost in outages of the brokers or restarts of the gateway. Losses of the journal are reported.
///
/// Events of an instrument go to `topic` with its symbol as the key, so that one partition has them in order; gaps,
/// clears, states of channels and lost records go to `events_topic` with the ring's name as the key. Levels and orders
/// go to topics of their own, where kLast is on the last one of each group, or are filtered. Each message is
/// delivered once by one producer. After a restart, and after a permanent error, messages without a confirmed delivery
/// are sent again; the headers `epoch` and `sequence` identify them.
///
/// If the template has a topic for each instrument, messages for a topic that the cluster refuses are counted, by
/// reason and as missed, and other topics continue. If there is a single topic, the sink waits until it is accepted.
///
/// The account counts the journal's records since the position at the sink's start: names are filtered, records that
/// are gone or damaged are missed.
///
/// Threads: like a Consumer; runs on its own thread.
/// Memory:  a few names for each instrument; `window` messages.
class KafkaSink final : public Consumer, public Producer::Reports {
public:
    /// Reads the position; sends nothing before start(). Throws what kafka::open throws.
    KafkaSink(const Settings& settings, JournalSource journal, std::string password, mode_t file_mode,
              service::LogFunction log);
    ~KafkaSink() override;

    void start() override;
    void stop() override;
    [[nodiscard]] const std::string& name() const noexcept override { return settings_.name; }
    [[nodiscard]] const std::string& ring() const noexcept override { return journal_.ring; }
    [[nodiscard]] std::string_view type() const noexcept override { return "kafka"; }
    [[nodiscard]] bool ended() const noexcept override { return ended_.load(std::memory_order_relaxed); }
    [[nodiscard]] Account account() const noexcept override { return account_.read(); }
    void visit_metrics(const MetricVisitor& visit) const override { counters_.visit(visit); }
    [[nodiscard]] SinkHealth health() const noexcept override {
        return {.connected = counters_.connected.read() != 0,
                .refused_messages = counters_.unknown_topic.read() + counters_.invalid_topic.read() +
                                    counters_.not_authorized.read() + counters_.too_large.read()};
    }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

    /// Called by the journal's reader for each record.
    void on(const feed::Quote& quote);
    void on(const feed::Trade& trade);
    void on(const feed::TradeBreak& broken);
    void on(const feed::Order& order);
    void on(const feed::Level& level);
    void on(const feed::Imbalance& imbalance);
    void on(const feed::Band& band);
    void on(const feed::Definition& definition);
    void on(const feed::BestVenues& venues);
    void on(const feed::Status& status);
    void on(const feed::Gap& gap);
    void on(const feed::Clear& clear);
    void on(const millpond::journal::LostRecord& lost);

private:
    /// A message in flight.
    struct Pending {
        std::uint64_t record;
        std::uint64_t missed;  ///< Records that the reader has missed before it.
        bool counts;           ///< Whether it is a record of the journal, not a loss reported by the reader.
        Producer::Topic topic{nullptr};
        bool may_go{false};  ///< Whether its topic comes from a template, so that a refusal does not stop other topics.
        bool is_change{false};  ///< Whether it is an order or level, so that its topic must not be compacted.
        bool delivered{false};
        bool refused{false};
    };
    struct Instrument {
        bool is_named;  // false: its name is not known, its number is used instead
        std::string key;
        feed::JsonSymbol symbol;
        Producer::Topic topic;
        Producer::Topic levels;  // nullptr: they are filtered
        Producer::Topic orders;
    };

    void delivered(std::uint64_t number, std::size_t bytes) override;
    void failed(std::uint64_t number, const Refusal& refusal) override;
    void error(const std::string& text) override;
    void compacted(const std::string& topic) override;
    void connected(bool up) override { counters_.connected.set(up ? 1 : 0); }

    void run(const std::stop_token& stop);
    /// Creates the producer if needed, sends records of the journal and handles reports; returns the number of records
    /// read.
    std::size_t round();
    void begin();
    /// Determines the first record to send. False while the journal is not open.
    bool join_journal();
    void go_to_position();
    /// Counts a message that its topic refuses, or lets the sink restart.
    void refuse(Pending& message, const Refusal& refusal);
    /// Refuses messages that wait for a topic which the cluster denies without a report of librdkafka.
    void refuse_stuck(std::int64_t now_ns);
    /// Drops the producer and returns to the saved position.
    void restart();
    void finish();
    void settle();
    void save_position(std::int64_t now_ns, bool at_once);
    void publish_account();

    [[nodiscard]] const Instrument& instrument_of(feed::InstrumentId id);
    template <class Event>
    void pass_on(const Event& event);
    /// Sends the order or level before this event, whose mark is known now; an order or level is held.
    template <class Event>
    void mark(const Event& event);
    /// Sends the order or level before one of this instrument that is filtered.
    void end_of_kind(feed::InstrumentId instrument);
    /// Sends the held order or level, whose group does not end.
    void cut_group();
    template <class Event>
    void send_marked(const Event& event, std::uint64_t record);
    template <class Event>
    [[nodiscard]] std::string_view value_of(const Event& event, const feed::JsonSymbol& symbol, std::uint64_t sequence);
    /// at: the record of the message's event.
    void send(const Pending& message, const millpond::journal::Position& at, std::string_view key,
              std::string_view value, std::int64_t received);

    Settings settings_;
    JournalSource journal_;
    std::string password_;
    service::LogFunction log_;
    TopicTemplate topic_;
    std::optional<TopicTemplate> levels_topic_;
    std::optional<TopicTemplate> orders_topic_;
    PositionFile position_;
    millpond::journal::JournalReader reader_;
    bool joined_{false};
    std::uint64_t start_;               // the account begins after this record
    std::uint64_t settled_;             // all records up to this one are delivered
    std::uint64_t settled_count_{0};    // records up to settled_ that were sent
    std::uint64_t settled_refused_{0};  // records up to settled_ that were refused
    std::uint64_t settled_missed_{0};
    std::uint64_t missed_{0};
    std::optional<millpond::journal::LostRecord> gone_;  // a loss to report first
    LastOfKind last_;
    millpond::journal::Position last_at_{};  // record of the event that last_ holds
    std::deque<Pending> pending_;
    std::uint64_t pending_losses_{0};  // pending messages that are not records
    std::uint64_t first_pending_{0};   // number of pending_'s first message
    std::string failure_;
    std::set<std::string> refusals_;     // refusals that were logged
    std::set<Producer::Topic> changes_;  // topics of levels and orders whose policy was queried
    std::chrono::milliseconds pause_;
    std::optional<std::size_t> batch_{};  // maximum number of messages of a batch; librdkafka's if unset
    std::int64_t saved_ns_{0};
    std::uint64_t stuck_number_{0};  // the first pending message at stuck_ns_
    std::int64_t stuck_ns_{0};
    std::uint64_t epoch_{0};
    std::vector<std::optional<Instrument>> instruments_;  // instruments of this epoch and producer
    Producer::Topic events_{nullptr};
    ValueBuffer value_{};
    Counters counters_;
    SharedAccount account_;
    std::atomic<bool> ended_{false};
    std::unique_ptr<Producer> producer_;
    std::jthread thread_;
};

}  // namespace millpond::gateway::kafka
