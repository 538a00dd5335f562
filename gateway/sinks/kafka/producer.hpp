#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/core/tally.hpp>

#include "gateway/sinks/kafka/settings.hpp"
#include "gateway/sinks/sink.hpp"

struct rd_kafka_queue_s;
struct rd_kafka_s;
struct rd_kafka_topic_s;
struct rd_kafka_conf_s;

namespace millpond::gateway::kafka {

/// Counters of a producer, written by the sink's thread and read on any.
struct Counters {
    core::Tally messages;  ///< Messages acknowledged by all in-sync replicas.
    core::Tally bytes;     ///< Bytes of their values.
    core::Tally failures;
    core::Tally restarts;
    core::Tally errors;
    core::Tally lost;
    core::Tally unknown_topic;
    core::Tally invalid_topic;
    core::Tally not_authorized;
    core::Tally too_large;
    core::Tally position;
    core::Tally in_flight;
    core::Tally connected;

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("messages_total", "Messages that all in-sync replicas have acknowledged.", messages);
        visitor("bytes_total", "Bytes of their values.", bytes);
        visitor("failures_total", "Messages that failed permanently; all records after the position are sent again.",
                failures);
        visitor("restarts_total", "Restarts of the producer from the last delivered position.", restarts);
        visitor("errors_total", "Errors reported by the producer, including unreachable brokers.", errors);
        visitor("lost_total", "Journal records that were removed or damaged before they were sent.", lost);
        visitor("messages_refused_unknown_topic_total", "Messages refused because their topic does not exist.",
                unknown_topic);
        visitor("messages_refused_invalid_topic_total",
                "Messages refused because the cluster cannot have their topic, whose name may collide with another.",
                invalid_topic);
        visitor("messages_refused_not_authorized_total", "Messages refused because the topic is not open to us.",
                not_authorized);
        visitor("messages_refused_too_large_total", "Messages refused because they are longer than message.max.bytes.",
                too_large);
        visitor("position", "All records of the journal up to this number are delivered.", position);
        visitor("in_flight", "Messages not acknowledged yet.", in_flight);
        visitor("connected", "1 while a broker is connected.", connected);
    }
};

/// The contents of a message, without its topic.
struct Record {
    std::string_view key;
    std::string_view value;
    std::uint64_t epoch{0};
    std::uint64_t sequence{0};
    std::int64_t received_utc_ns{0};
};

/// Reason why a message is not delivered.
struct Refusal {
    enum class Kind : std::uint8_t {
        producer,        ///< The producer accepts no more messages.
        unknown_topic,   ///< The topic does not exist; other topics are not affected by this and the next two.
        invalid_topic,   ///< The cluster cannot have a topic of this name.
        not_authorized,  ///< The client may not write to the topic.
        too_large,       ///< The message is longer than the limit.
    };
    Kind kind{Kind::producer};
    std::string text;  ///< Reason, with the topic's name.
};

/// An idempotent producer (acks=all, no time limit) with one report for each message, in the order of the sends on each
/// partition.
///
/// Threads: one; librdkafka has its own threads, whose reports are returned by poll().
/// Source:  librdkafka's INTRODUCTION.md, "Idempotent Producer" and "Message reliability"; rdkafka.h.
class Producer {
public:
    /// Receives the reports: the message with this number was delivered, or has failed permanently.
    class Reports {
    public:
        virtual void delivered(std::uint64_t number, std::size_t bytes) = 0;
        virtual void failed(std::uint64_t number, const Refusal& refusal) = 0;
        virtual void error(const std::string& text) = 0;
        /// Called with the name of a topic whose policy was queried, if it is compacted.
        virtual void compacted(const std::string& topic) { static_cast<void>(topic); }
        /// Called several times a second with whether a broker is connected.
        virtual void connected(bool up) = 0;

    protected:
        ~Reports() = default;
    };
    using Topic = rd_kafka_topic_s*;

    /// password: for SASL. batch: maximum number of messages of a batch; librdkafka's if unset. Throws
    /// std::invalid_argument that names a bad property.
    Producer(const Settings& settings, const std::string& password, std::optional<std::size_t> batch, Reports& reports);
    /// Drops messages that are not delivered yet.
    ~Producer();
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    /// Returns the topic of this name, valid as long as the producer.
    [[nodiscard]] Topic topic(const std::string& name);
    /// Sends a message. Returns the reason if it is not accepted.
    [[nodiscard]] std::optional<Refusal> send(Topic topic, const Record& record, std::uint64_t number);
    /// Queries the cluster for the error of a topic; nullopt after half a second. librdkafka keeps messages for a topic
    /// without permission and does not report them.
    [[nodiscard]] std::optional<Refusal> topic_error(Topic topic) const;
    /// Queries the topic's cleanup.policy. Calls Reports::compacted if it is compacted; nothing if the cluster does not
    /// answer or denies it.
    void query_policy(Topic topic);
    /// Whether a broker has refused a batch for its size; the producer accepts no more messages then.
    [[nodiscard]] bool batch_was_too_large() const;
    /// Delivers reports; waits for the first one for at most `timeout`.
    void poll(std::chrono::milliseconds timeout);

private:
    void read_policies();

    Reports& reports_;
    rd_kafka_s* handle_;
    rd_kafka_queue_s* policies_;  // answers to query_policy
    std::map<std::string, Topic> topics_;
};

}  // namespace millpond::gateway::kafka
