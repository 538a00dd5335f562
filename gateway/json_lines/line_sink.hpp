#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/feed/event.hpp>

#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/standing.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// A sink that encodes each event as one line of JSON, once for all subscribers. It is never slow itself: its log
/// accepts every event, and a slow subscriber falls behind alone.
///
/// Threads: as Sink says.
/// Memory:  `backlog` lines, and the newest quote and state of each instrument.
class LineSink : public Sink {
public:
    /// backlog: lines, a power of two.
    /// Throws service::OutOfMemory that names it.
    explicit LineSink(std::size_t backlog);

    [[nodiscard]] std::size_t room() const noexcept override { return kRound; }
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status& status, std::uint64_t number) override;
    Taken on(const feed::Quote& quote, std::uint64_t number) override;
    Taken on(const feed::Trade& trade, std::uint64_t number) override;
    Taken on(const feed::TradeBreak& broken, std::uint64_t number) override;
    Taken on(const feed::Status& status, std::uint64_t number) override;
    Taken on(const feed::Gap& gap, std::uint64_t number) override;
    Taken on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    [[nodiscard]] std::uint64_t held() const noexcept override { return 0; }

protected:
    [[nodiscard]] const LineLog& log() const noexcept { return log_; }
    [[nodiscard]] const Standing& standing() const noexcept { return standing_; }
    /// Until leave() it is notified of names and of lines that leave the log.
    void join(Subscriber& subscriber) { subscribers_.push_back(&subscriber); }
    void leave(const Subscriber& subscriber);
    /// To be called when subscribers have moved on: which line none of them waits for any more.
    void find_slowest() noexcept;

private:
    static constexpr std::size_t kRound = 1'024;  ///< Events between two polls of the sockets.

    void make_room();
    [[nodiscard]] Line& append(LineKind kind, feed::InstrumentId id, std::uint64_t events = 1);

    LineLog log_;
    Standing standing_;
    std::uint64_t slowest_{0};  // no subscriber is before this line
    std::vector<Subscriber*> subscribers_;
};

}  // namespace millpond::gateway::json_lines
