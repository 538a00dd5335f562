#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/core/tally.hpp>

#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/sink.hpp"

struct rd_kafka_s;
struct rd_kafka_topic_s;
struct rd_kafka_conf_s;

namespace millpond::gateway::kafka {

/// Written by the sink's thread, read on any.
struct Counters {
    core::Tally messages;  ///< Acknowledged by all in-sync replicas.
    core::Tally bytes;     ///< Of their values.
    core::Tally failures;
    core::Tally restarts;
    core::Tally errors;
    core::Tally lost;
    core::Tally position;
    core::Tally in_flight;
    core::Tally connected;

    /// Calls visit(name, help, tally) for each.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("messages_total", "Messages that all in-sync replicas have acknowledged.", messages);
        visitor("bytes_total", "Bytes of their values.", bytes);
        visitor("failures_total", "Messages that failed permanently; all records after the position are sent again.",
                failures);
        visitor("restarts_total", "Restarts of the producer from the last delivered position.", restarts);
        visitor("errors_total", "Errors reported by the producer, including unreachable brokers.", errors);
        visitor("lost_total", "Journal records that were removed or damaged before they were sent.", lost);
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

/// An idempotent producer (acks=all, no time limit) whose every message is reported on: in order of the sends on each
/// partition, and each once.
///
/// Threads: one; librdkafka has its own threads, whose reports are returned by poll().
/// Source:  librdkafka's INTRODUCTION.md, "Idempotent Producer" and "Message reliability"; rdkafka.h.
class Producer {
public:
    /// A message sent with this number was delivered, or, with a reason, was not and will not be.
    class Reports {
    public:
        virtual void delivered(std::uint64_t number, std::size_t bytes) = 0;
        virtual void failed(std::uint64_t number, const std::string& reason) = 0;
        virtual void error(const std::string& text) = 0;
        /// Whether a broker is connected; several times a second.
        virtual void connected(bool up) = 0;

    protected:
        ~Reports() = default;
    };
    using Topic = rd_kafka_topic_s*;

    /// Throws std::invalid_argument that names a bad property.
    Producer(const Options& options, Reports& reports);
    /// What is not delivered yet is dropped.
    ~Producer();
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    /// Lives as long as the producer; one a name.
    [[nodiscard]] Topic topic(const std::string& name);
    /// The reason when it is not taken.
    [[nodiscard]] std::optional<std::string> send(Topic topic, const Record& record, std::uint64_t number);
    /// Whether a broker has refused a batch for its size: no message is accepted any more.
    [[nodiscard]] bool batch_was_too_large() const;
    /// Delivers reports; waits for one for at most this long.
    void poll(std::chrono::milliseconds longest);

private:
    rd_kafka_s* handle_;
    std::map<std::string, Topic> topics_;
};

}  // namespace millpond::gateway::kafka
