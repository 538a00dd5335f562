#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
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
#include "gateway/sinks/topic.hpp"

namespace millpond::gateway::kafka {

/// Every record of a journal to Kafka, from the last delivered position on: through outages of the brokers and through
/// restarts of the gateway nothing is lost that the journal still has. Losses of the journal are reported.
///
/// An event of an instrument goes to `topic` with its symbol as the key, so that one partition has them in order; gaps,
/// clears, states of channels and lost records go to `events_topic` with the ring's name as the key.
///
/// While the producer lives, each message is delivered once. After a restart, and after a message that was refused for
/// error, messages that are not known to be delivered are sent again: the headers `epoch` and `sequence` identify them.
///
/// Its account counts the journal's records since the position at its start: names are filtered, records that are
/// gone or damaged are missed.
///
/// Threads: like a Consumer; runs on its own thread.
/// Memory:  a few names an instrument; `window` messages.
class KafkaSink final : public Consumer, public Producer::Reports {
public:
    /// Reads the position; nothing is sent yet. Throws as kafka::open.
    KafkaSink(const Options& options, service::Say say);
    ~KafkaSink() override;

    void start() override;
    void stop() override;
    [[nodiscard]] const std::string& name() const noexcept override { return options_.name; }
    [[nodiscard]] const std::string& ring() const noexcept override { return options_.ring; }
    [[nodiscard]] std::string_view type() const noexcept override { return "kafka"; }
    [[nodiscard]] bool ended() const noexcept override { return ended_.load(std::memory_order_relaxed); }
    [[nodiscard]] Account account() const noexcept override { return account_.read(); }
    void visit_metrics(const MetricVisitor& visit) const override { counters_.visit(visit); }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

    /// Called by the reader for each record.
    void on(const feed::Quote& quote);
    void on(const feed::Trade& trade);
    void on(const feed::TradeBreak& broken);
    void on(const feed::Status& status);
    void on(const feed::Gap& gap);
    void on(const feed::Clear& clear);
    void on(const millpond::journal::LostRecord& lost);

private:
    /// A message on its way.
    struct Pending {
        std::uint64_t record;
        std::uint64_t missed;  ///< By the reader, up to here.
        bool counts;           ///< It is a record, not one of the reader's own losses.
        bool delivered{false};
    };
    struct Instrument {
        bool is_named;  // otherwise by number, until a segment has its name
        std::string key;
        feed::JsonSymbol symbol;
        Producer::Topic topic;
    };

    void delivered(std::uint64_t number, std::size_t bytes) override;
    void failed(std::uint64_t number, const std::string& reason) override;
    void error(const std::string& text) override;
    void connected(bool up) override { counters_.connected.set(up ? 1 : 0); }

    void run(const std::stop_token& stop);
    /// Creates the producer if needed, sends records of the journal, takes reports; returns the number of records read.
    std::size_t round();
    void begin();
    void go_to_position();
    /// Drops the producer and goes back to the position.
    void restart();
    void finish();
    void settle();
    void save_position(std::int64_t now_ns, bool at_once);
    void publish_account();

    [[nodiscard]] const Instrument& instrument_of(feed::InstrumentId id);
    template <class Event, class Json>
    void pass_on(const Event& event, std::int64_t received, Json&& json);
    void send(const Pending& message, Producer::Topic topic, std::string_view key, std::string_view value,
              std::int64_t received);

    Options options_;
    service::Say say_;
    TopicTemplate topic_;
    PositionFile position_;
    millpond::journal::JournalReader reader_;
    std::uint64_t start_;             // the account begins after this record
    std::uint64_t settled_;           // all up to this record are delivered
    std::uint64_t settled_count_{0};  // of them those that were sent
    std::uint64_t settled_missed_{0};
    std::uint64_t missed_{0};
    std::optional<millpond::journal::LostRecord> gone_;  // to be reported first
    std::deque<Pending> pending_;
    std::uint64_t pending_losses_{0};  // of them those that do not count
    std::uint64_t first_pending_{0};   // number of pending_'s first message
    std::string failure_;
    std::chrono::milliseconds pause_;
    std::int64_t saved_ns_{0};
    std::uint64_t epoch_{0};
    std::vector<std::optional<Instrument>> instruments_;  // of this epoch and producer
    Producer::Topic events_{nullptr};
    ValueBuffer value_{};
    Counters counters_;
    SharedAccount account_;
    std::atomic<bool> ended_{false};
    std::unique_ptr<Producer> producer_;
    std::jthread thread_;
};

}  // namespace millpond::gateway::kafka
