#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/venues_json.hpp>
#include <millpond/queue/spsc_ring.hpp>

#include "gateway/json_lines/replay.hpp"
#include "gateway/json_lines/replay_reader.hpp"
#include "gateway/json_lines/request.hpp"
#include "gateway/json_lines/subscriptions.hpp"
#include "service/log_function.hpp"

namespace millpond::gateway::json_lines {

/// The replays of a sink, read by one thread, if its ring has a journal.
///
/// Threads: the sink's; metrics on any.
class Replays {
public:
    struct Options {
        std::string sink;               ///< Its name.
        std::string type;               ///< Its type, for the log.
        std::string ring;               ///< That the sink reads.
        std::filesystem::path journal;  ///< Folder of the ring's journal; empty: there is none.
        std::uint64_t max{0};           ///< Maximum number of replays at a time.
        service::LogFunction log;
        std::chrono::nanoseconds patience{ReplayReader::From{}.patience};
    };
    explicit Replays(Options options) : options_(std::move(options)) {}
    /// Ends all replays. Waits until the reader's thread has stopped.
    ~Replays();
    Replays(const Replays&) = delete;
    Replays& operator=(const Replays&) = delete;

    /// The sink's ring. Starts the thread. Must be called once, before start(). Throws std::system_error.
    void open(std::uint64_t epoch, const std::optional<feed::ChannelVenues>& venues = {});

    /// Starts a replay. Throws RequestError if that is not possible.
    [[nodiscard]] std::shared_ptr<Replay> start(const ReplayStart& start, const WantedSymbols& wanted);
    /// Ends a replay that was started.
    void end(Replay& replay);
    /// Counts and logs the failure that a part has: a warning, unless it is the request's.
    void note_failure(const Replay& replay, const ReplayPart& part);
    /// Makes the reader look for offers and for room.
    void wake() const noexcept;

    /// The newest ring entry that the sink has read.
    struct Place {
        std::uint64_t epoch;
        std::uint64_t number;
    };
    [[nodiscard]] Place live() const noexcept { return {epoch_, live_.load(std::memory_order_relaxed)}; }
    void set_live(std::uint64_t number) noexcept { live_.store(number, std::memory_order_relaxed); }
    /// Whether the reader has pushed a part since the last call.
    [[nodiscard]] bool pop_news() noexcept;

    /// Calls visit(name, help, tally) for each metric.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("replays", "Replays in progress.", active_);
        visitor("replays_total", "Replays that were started.", started_);
        visitor("replays_refused_total", "Replays refused because max_replays were in progress.", refused_);
        visitor("replays_failed_total",
                "Replays whose start or rest the journal does not have, or that cannot be read.", failed_);
    }
    [[nodiscard]] std::uint64_t active() const noexcept { return active_.read(); }
    [[nodiscard]] std::uint64_t failed() const noexcept { return failed_.read(); }

private:
    static constexpr std::size_t kMaxWaiting = 128;

    void run(const std::stop_token& stop);

    Options options_;
    std::uint64_t epoch_{0};
    ReplayReader::From from_;
    queue::SpscRing<std::shared_ptr<Replay>> waiting_{kMaxWaiting};  // started, not seen by the thread yet
    core::Descriptor wake_;
    std::atomic<std::uint64_t> live_{0};
    std::atomic<std::uint64_t> pushed_{0};  // rounds of the thread that may have pushed parts
    std::uint64_t seen_{0};
    core::Tally active_;
    core::Tally started_;
    core::Tally refused_;
    core::Tally failed_;
    std::jthread thread_;
};

}  // namespace millpond::gateway::json_lines
