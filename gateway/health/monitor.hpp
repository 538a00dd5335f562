#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_reader.hpp>

#include "gateway/health/latency_window.hpp"
#include "gateway/health/state.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/sinks/consumer.hpp"
#include "service/last_error.hpp"

namespace millpond::gateway::health {

/// A sink and its last error.
struct WatchedSink {
    const Consumer* thread;
    const service::LastError* error;
    std::chrono::nanoseconds holds;  ///< Time for which it may delay an event on purpose.
    std::string exposed{};           ///< service::exposure of its listening address.
};

/// Checks a gateway without work on the path of a quote: reads counters, the board and kernel tables, and keeps earlier
/// values for start times and rates.
///
/// Threads: update and set_program on one, set_sinks on one other, state on any.
class Monitor {
public:
    /// metrics_exposed: the result of metrics_exposure.
    Monitor(const std::vector<std::unique_ptr<Pipeline>>& pipelines, const std::vector<WatchedSink>& sinks,
            std::string metrics_exposed, core::Moment now);

    /// Replaces the watched sinks and keeps the state of those that stay. Removed sinks are not used after this
    /// returns.
    void set_sinks(const std::vector<WatchedSink>& sinks);
    void set_program(ProgramState program);
    /// Checks at most ten times a second; may be called at any rate.
    void update(core::Moment now);
    [[nodiscard]] std::shared_ptr<const State> state() const;

private:
    /// Growth of a count per second.
    struct Rate {
        std::uint64_t count{0};
        double per_second{0};
        void update(std::uint64_t now_count, double span_seconds) noexcept;
    };
    struct FeedMemory {
        std::uint64_t datagrams{0};
        std::uint64_t heard{0};
        Rate datagram_rate;
        Rate quote_rate;
        std::uint64_t gapped{0};  // ring number of the newest loss on the board
    };
    struct RingMemory {
        std::unique_ptr<market::RingReader> reader;
        std::int64_t asked{0};  // time of the last query of the memory
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
        std::int64_t moved{0};      // time when it last passed on an event, or had none waiting
        bool waiting{false};        // events were queued at the last update
        std::int64_t max_lag{0};    // maximum lag of events passed on since the last count
        std::int64_t shown_lag{0};  // maximum lag of the previous second
        Rate delivered;
    };

    /// Replaces the state that state() returns.
    void show();
    static void update_lines(const Feed& feed, FeedState& state, std::int64_t now);
    /// Updates the states of the pipeline's feeds. True if messages were lost since the last call.
    bool update_feeds(const Pipeline& pipeline, std::int64_t now, double span, std::size_t& index);
    void update_links(const Pipeline& pipeline, std::int64_t now, std::size_t& index);
    void update_ring(std::size_t index, std::int64_t now, double span);
    void update_board(std::size_t index, std::int64_t now);
    void update_sink(std::size_t index, std::int64_t now, double span);

    const std::vector<std::unique_ptr<Pipeline>>& pipelines_;
    std::mutex updating_;  // protects sinks_ and everything that update writes
    std::vector<WatchedSink> sinks_;
    State state_;
    std::vector<FeedMemory> feed_memory_;
    std::vector<RingMemory> ring_memory_;
    std::vector<SinkMemory> sink_memory_;
    core::TickRate tick_rate_;
    std::int64_t updated_{0};
    std::int64_t counted_second_{0};  // second of UTC in which rates were last computed
    mutable std::mutex mutex_;
    std::shared_ptr<const State> shown_;
};

}  // namespace millpond::gateway::health
