#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <sys/uio.h>

#include <millpond/feed/event.hpp>

#include "gateway/json_lines/id_set.hpp"
#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/line_runs.hpp"
#include "gateway/json_lines/request.hpp"
#include "gateway/json_lines/standing.hpp"
#include "gateway/sinks/account.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// {"type":"<type>","text":"<text>"} and a newline.
[[nodiscard]] std::string text_line(std::string_view type, std::string_view text);

/// One client of a sink with JSON lines: its position in the log, its subscriptions and its account, without a socket.
/// The sender sends text() first, then the lines of gather(), or everything as one text from fill().
///
/// It reads the log at its own pace. What falls out of the log before it was sent is lost to a client with mode `every`
/// (and told: {"type":"missed","count":N}); with mode `conflate` the instrument's newest quote is *owed* and sent from
/// the standing quotes. The board at joining is owed likewise, and behind a gap the quotes that it made incomplete, but
/// neither is part of the account's sum. An owed quote is void if a line yet to be sent has a newer one.
///
/// Threads: one.
/// Memory:  a bit or two an instrument, and text that is bounded by kMostText.
class Subscriber {
public:
    /// It begins at the log's end; the board is owed to it.
    Subscriber(Delivery mode, const LineLog& log, const Standing& standing);

    /// Gives up every line before `oldest`, which is about to leave the log.
    void leave_behind(std::uint64_t oldest);

    void obey(const Request& request);
    /// A line to this client alone, outside the account: an answer or the reason for what follows. `text` is escaped.
    void tell(std::string_view type, std::string_view text);
    void tell_account();
    /// Whether so much text for this client is pending that requests have to wait.
    [[nodiscard]] bool overfull() const noexcept { return text_.size() - text_sent_ > kMostText; }

    /// A new instrument; its id is standing.size() - 1.
    void named(feed::InstrumentId id);

    /// Whether its interval does not allow sending yet.
    [[nodiscard]] bool rests(std::int64_t now_ns) const noexcept {
        return interval_.count() != 0 && now_ns < rests_until_ns_;
    }
    /// Everything was sent: starts the interval.
    void rest_from(std::int64_t now_ns) noexcept { rests_until_ns_ = now_ns + interval_.count(); }

    /// Drops complete waiting lines, sends the reason and nothing after it.
    void end(std::string_view reason);
    [[nodiscard]] bool ending() const noexcept { return ending_; }
    /// The next line to send to it.
    [[nodiscard]] std::uint64_t next_line() const noexcept { return next_; }
    [[nodiscard]] bool has_lines() const noexcept { return next_ < log_.end(); }
    /// Whether something waits to be sent, the board aside.
    [[nodiscard]] bool has_more() const noexcept { return has_lines() || !text_.empty() || owed_count_ != 0; }

    [[nodiscard]] Account account() const noexcept;

    /// Bytes for it alone that go out before any line; who changes what is told or owed moves them.
    [[nodiscard]] std::string_view text() const noexcept { return std::string_view{text_}.substr(text_sent_); }
    /// So many bytes of text() went out.
    void text_went_out(std::size_t bytes);
    /// Whether something is owed that write_owed() would add to the text.
    [[nodiscard]] bool owes() const noexcept;
    void write_owed();

    /// The next lines that it wants, at most what one system call takes, and what becomes of those between them.
    static constexpr std::size_t kMostLines = 64;
    struct Gathered {
        struct Item {
            iovec bytes;
            std::uint64_t line;
            std::uint64_t filtered;  ///< Events passed over in front of it.
            std::uint64_t conflated;
        };
        std::array<Item, kMostLines> items;
        std::size_t count{0};
        std::uint64_t filtered{0};  ///< Behind the last item.
        std::uint64_t conflated{0};
        std::uint64_t end{0};
    };

    void gather(Gathered& gathered) const;
    /// So many bytes of what was gathered went out; the rest of a line half sent is text() from now on.
    void settle(const Gathered& gathered, std::size_t bytes);
    /// The mode of a client whose next bytes are the lines from next_line() on and nothing else, whatever other clients
    /// get: see LineRuns. None if something is owed, filtered or timed.
    [[nodiscard]] std::optional<Delivery> plain_mode() const noexcept {
        const bool plain = everything_ && text_.empty() && interval_.count() == 0 && !ending_ && !owes();
        return plain ? std::optional{mode_} : std::nullopt;
    }
    /// Takes a run of that mode, which begins at next_line(), in place of text; text_went_out() follows.
    void take(const LineRuns::Run& run) noexcept;

    /// Adds to the text what is owed and then lines, until it has about kMostText bytes or none is left. The
    /// interval begins with the text that ends what waited when the first text of a row was filled.
    void fill(std::int64_t now_ns);

private:
    static constexpr std::size_t kMostText = LineRuns::kMostText;
    static constexpr std::size_t kMostSymbols = 10'000;  ///< Subscribed to one by one.

    [[nodiscard]] bool wants(feed::InstrumentId id) const noexcept {
        return everything_ || id == feed::kNoInstrument || wanted_.contains(id);
    }
    /// Whether all lines before the echo's request have been passed on; owed quotes still come first.
    [[nodiscard]] bool echo_is_due() const noexcept { return echo_ && next_ >= echo_->line; }
    void owe_board(feed::InstrumentId id);
    /// Behind a line that makes quotes incomplete, those quotes.
    void owe_marked(std::uint64_t line);
    void write_owed_states();
    void write_owed_quotes();
    void take_into_text(const Gathered& gathered);
    void pass_over(const Gathered::Item& item);
    void pass_the_end(const Gathered& gathered);

    Delivery mode_;
    const LineLog& log_;
    const Standing& standing_;
    std::uint64_t next_;       // line to be sent next
    std::uint64_t joined_at_;  // events of the log before the first line
    std::chrono::nanoseconds interval_{0};
    std::int64_t rests_until_ns_{0};
    bool ending_{false};

    bool everything_{true};
    std::set<std::string, std::less<>> wanted_symbols_;
    IdSet wanted_;

    bool owes_channels_{true};  // the channels' states are to be sent
    IdSet owed_states_;         // instruments whose standing state is to be sent
    IdSet owed_;                // instruments whose standing quote is to be sent
    IdSet owed_events_;         // those of them that stand for an event
    std::uint64_t owed_count_{0};
    std::uint64_t untold_losses_{0};

    /// A request for an echo; a newer one takes the place of one that waits.
    struct Echo {
        std::uint64_t number;
        std::uint64_t line;  // the first that came after the request
    };
    std::optional<Echo> echo_;
    std::uint64_t flush_end_{0};  // lines before it go out without a rest between them

    std::string text_;  // for this client alone: answers, owed quotes, the rest of a line half sent
    std::size_t text_sent_{0};
    std::uint64_t text_events_{0};  // events that end in it
    std::uint64_t text_snapshot_{0};
    Account sums_;  // published and queued are not kept
};

}  // namespace millpond::gateway::json_lines
