#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <millpond/market/ring_reader.hpp>

#include "gateway/health/last_error.hpp"
#include "gateway/health/latency_window.hpp"
#include "gateway/health/state.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/sinks/consumer.hpp"

namespace millpond::gateway::health {

/// A sink and its last error.
struct WatchedSink {
    const Consumer* thread;
    const LastError* error;
    std::chrono::nanoseconds holds;  ///< For how long it may hold an event on purpose.
};

/// Checks a gateway a few times a second from outside: the path of a quote does no work for it. It reads
/// counters, the board and kernel tables, and keeps the state for start times and rates.
///
/// Threads: look on one, set_sinks on one other, state on any.
class Monitor {
public:
    Monitor(const std::vector<std::unique_ptr<Pipeline>>& pipelines, const std::vector<WatchedSink>& sinks,
            core::Moment now);

    /// Replaces the watched sinks; the state of those that stay is kept. None of the
    /// others is used any more when this returns.
    void set_sinks(const std::vector<WatchedSink>& sinks);
    /// May be called at any rate; checks ten times a second.
    void look(core::Moment now);
    [[nodiscard]] std::shared_ptr<const State> state() const;

private:
    /// A count at two times.
    struct Rate {
        std::uint64_t count{0};
        double per_second{0};
        void see(std::uint64_t now_count, double span_seconds) noexcept;
    };
    struct FeedMemory {
        std::uint64_t datagrams{0};
        std::uint64_t heard{0};
        Rate datagram_rate;
        Rate quote_rate;
        std::uint64_t gapped{0};  // the board's number of the newest loss
    };
    struct RingMemory {
        std::unique_ptr<market::RingReader> reader;
        std::int64_t asked{0};  // the kernel, for the memory
        Rate published;
        LatencyWindow wire;
        LatencyWindow in_process;
    };
    struct SinkMemory {
        struct Mark {
            std::int64_t at;
            std::uint64_t published;
        };
        std::deque<Mark> marks;
        std::uint64_t passed_on{0};
        std::int64_t moved{0};  // when it last passed on an event, or had none to pass on
        Rate delivered;
    };

    static void look_at_lines(const Feed& line, FeedState& state, std::int64_t now);
    /// True if something was lost since the last check.
    bool look_at_feeds(const Pipeline& pipeline, std::int64_t now, double span, std::size_t& feed);
    void look_at_ways(const Pipeline& pipeline, std::int64_t now, std::size_t& feed);
    void look_at_ring(std::size_t index, std::int64_t now, double span);
    void look_at_board(std::size_t index, std::int64_t now);
    void look_at_sink(std::size_t index, std::int64_t now, double span);

    const std::vector<std::unique_ptr<Pipeline>>& pipelines_;
    std::mutex looking_;  // protects sinks_ and everything that look writes
    std::vector<WatchedSink> sinks_;
    State state_;
    std::vector<FeedMemory> feed_memory_;
    std::vector<RingMemory> ring_memory_;
    std::vector<SinkMemory> sink_memory_;
    std::int64_t looked_{0};
    std::int64_t counted_{0};  // when rates were last computed
    mutable std::mutex mutex_;
    std::shared_ptr<const State> shown_;
};

}  // namespace millpond::gateway::health
