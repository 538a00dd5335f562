#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <sys/uio.h>

#include <millpond/feed/event.hpp>

#include "gateway/json_lines/depth.hpp"
#include "gateway/json_lines/depth_books.hpp"
#include "gateway/json_lines/id_set.hpp"
#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/line_runs.hpp"
#include "gateway/json_lines/request.hpp"
#include "gateway/json_lines/snapshot.hpp"
#include "gateway/json_lines/subscriptions.hpp"
#include "gateway/sinks/account.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

class Replay;
class Replays;
struct ReplayPart;
struct ReplayedState;

/// Formats {"type":"<type>","text":"<text>"} with a newline.
[[nodiscard]] std::string text_line(std::string_view type, std::string_view text);

/// What the clients of a sink read.
struct Source {
    const LineLog& lines;
    const Snapshot& snapshot;
    DepthBooks& books;          ///< Subscribers add their demand.
    Replays* replays{nullptr};  ///< Null if the source itself is one of a replay.
    Entitlement entitlement{Entitlement::orders};
};

/// A client of a sink with JSON lines: its position in the log, its subscriptions and its account, without a socket.
/// The sender sends text() first, then the lines of gather(), or everything as one text from fill().
///
/// A client reads the log at its own pace. A client with mode `every` loses lines that leave the log before they were
/// sent, and gets {"type":"missed","count":N}. With mode `conflate` the instrument's newest quote is *pending* instead,
/// and is sent from the snapshot. The snapshot at joining is pending too, and after a gap the quotes that it made
/// incomplete; neither is part of the account's sum. A pending quote is dropped if a line yet to be sent has a newer
/// one.
///
/// With depth, a client gets each book as a snapshot first, and then its changes. A book whose changes left the log
/// before they were sent, or that a gap made incomplete, is pending like a quote. With mode `conflate` the changes are
/// not sent: the book is pending, and sent whole, before any other event that must not be conflated. Lines that a
/// snapshot includes already are skipped.
///
/// During a replay the client is *parked*: it gets the replay's parts, and the log goes on without it. The last part
/// ends where a line of the log begins, with which the client continues (replay.hpp).
///
/// Threads: one.
/// Memory:  that of Subscriptions, five bits for each instrument, and text that is bounded by kMaxText and one book.
class Subscriber {
public:
    /// Begins at the log's end, with the snapshot pending.
    Subscriber(Delivery mode, const Source& source);
    Subscriber(const Subscriber&) = delete;
    Subscriber& operator=(const Subscriber&) = delete;
    ~Subscriber() { end_replay(); }

    /// Drops the lines before `oldest`, which are about to leave the log.
    void drop_before(std::uint64_t oldest);

    /// Throws RequestError if the feed sends less than the request wants; then nothing of it is applied.
    void apply(const Request& request);
    /// Replaces all subscriptions, without what a new subscription is sent first.
    void replace(WantedSymbols wanted) { subscriptions_.replace(std::move(wanted)); }
    [[nodiscard]] bool wants(feed::InstrumentId id) const noexcept { return subscriptions_.wants(id); }
    [[nodiscard]] Depth depth(feed::InstrumentId id) const noexcept { return subscriptions_.depth(id); }
    /// Sends a line to this client alone, outside its account: a reply or a reason. `text` is escaped.
    void reply(std::string_view type, std::string_view text);
    void reply_account();
    /// Whether the waiting text has reached its limit, so that requests have to wait.
    [[nodiscard]] bool is_full() const noexcept { return text_.size() - text_sent_ > kMaxText; }

    /// Called for each new instrument.
    void add_instrument(feed::InstrumentId id);

    /// Whether the client's interval has not ended yet. A replay, also one that has yet to begin, has no intervals.
    [[nodiscard]] bool is_paused(std::int64_t now_ns) const noexcept {
        return !replay_ && !is_parked_ && interval_.count() != 0 && now_ns < paused_until_ns_;
    }
    /// Starts the interval; call it when everything was sent.
    void pause_from(std::int64_t now_ns) noexcept { paused_until_ns_ = now_ns + interval_.count(); }

    /// Drops waiting lines that are not partly sent, sends the reason and nothing after it.
    void end(std::string_view reason);
    [[nodiscard]] bool ending() const noexcept { return ending_; }
    /// Why the client has to be disconnected; empty if it does not.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    /// The next line to send to it.
    [[nodiscard]] std::uint64_t next_line() const noexcept { return next_; }
    [[nodiscard]] bool has_lines() const noexcept { return !is_parked_ && next_ < log_.end(); }
    /// Whether a replay has begun that is not over.
    [[nodiscard]] bool is_parked() const noexcept { return is_parked_; }
    /// Whether something waits to be sent, except for the snapshot.
    [[nodiscard]] bool has_more() const noexcept { return has_lines() || !text_.empty() || pending_event_count_ != 0; }

    [[nodiscard]] Account account() const noexcept;
    /// The name that the client has given; empty if none.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Text for this client alone, to be sent before any line. Any non-const call invalidates it.
    [[nodiscard]] std::string_view text() const noexcept { return std::string_view{text_}.substr(text_sent_); }
    /// Reports that `bytes` bytes of text() were sent.
    void on_text_sent(std::size_t bytes);
    /// Whether write_pending() would add to the text.
    [[nodiscard]] bool has_pending() const noexcept;
    void write_pending();
    /// Whether lines have to wait for write_pending(): they change a book that is not sent yet.
    [[nodiscard]] bool has_pending_books() const noexcept { return !pending_books_.empty(); }

    /// Maximum number of gathered lines, which one system call can send.
    static constexpr std::size_t kMaxLines = 64;
    struct Gathered {
        struct Item {
            iovec bytes;
            std::uint64_t line;
            std::uint64_t filtered;  ///< Events skipped before it.
            std::uint64_t conflated;
        };
        std::array<Item, kMaxLines> items;
        std::size_t count{0};
        std::uint64_t filtered{0};  ///< Events skipped after the last item.
        std::uint64_t conflated{0};
        std::uint64_t end{0};
    };

    void gather(Gathered& gathered) const;
    /// Reports that `bytes` bytes of the gathered lines were sent. The rest of a partly sent line becomes text().
    void settle(const Gathered& gathered, std::size_t bytes);
    /// Mode of a client that can be sent a LineRuns::Run, because its next bytes are the lines from next_line() on;
    /// nullopt if anything is pending, filtered or delayed.
    [[nodiscard]] std::optional<Delivery> plain_mode() const noexcept {
        const bool plain = subscriptions_.is_plain() && !is_parked_ && text_.empty() && interval_.count() == 0 &&
                           !ending_ && !has_pending();
        return plain ? std::optional{mode_} : std::nullopt;
    }
    /// Accounts for a run from next_line() in plain_mode(), which the caller sends instead of text(). Call
    /// on_text_sent() afterwards.
    void consume(const LineRuns::Run& run) noexcept;

    /// Appends pending items and then lines to the text, up to about kMaxText bytes. The interval starts with the text
    /// that contains the last line that was waiting when the first text of a series was filled.
    void fill(std::int64_t now_ns);

private:
    static constexpr std::size_t kMaxText = LineRuns::kMaxText;

    /// What happens to a line of a book.
    enum class BookLine : std::uint8_t {
        filtered,
        covered,    ///< A snapshot includes it.
        whole,      ///< The book becomes pending.
        conflated,  ///< Likewise, as an event that counts.
        sent,
    };

    /// Whether all lines before the echo's request were sent; pending quotes still come first.
    [[nodiscard]] bool echo_is_due() const noexcept { return echo_ && !replay_ && !is_parked_ && next_ >= echo_->line; }
    [[nodiscard]] bool has_depth() const noexcept { return subscriptions_.has_depth(); }
    void check_replay(const Request& request) const;
    void start_replay(const Request& request);
    void end_replay() noexcept;
    /// Appends parts of the replay to the text.
    void write_replay();
    void park(const Replay& replay);
    void add_to_account(const Account& replayed);
    /// Offers the replay to stop at the log's present end if it is close to that.
    void offer_live(const ReplayPart& part);
    /// Continues with the line of the log that was offered.
    void go_live(const ReplayedState& state);
    [[nodiscard]] BookLine outcome(const Line& line, std::uint64_t number) const noexcept;
    /// Accounts for the lines of books from `begin` on that are not sent, and makes their books pending.
    void skip_book_lines(std::uint64_t begin, std::uint64_t end);
    void drop_book_line(const Line& line, std::uint64_t number);
    void add_pending_book(const Line& line, BookLine outcome);
    void write_pending_books();
    /// Returns false if the feed sends less than the client wants: the client gets the error and, as the last of this
    /// book, an empty incomplete one.
    [[nodiscard]] bool write_book(feed::InstrumentId id);
    void add_snapshot(feed::InstrumentId id);
    /// Adds the quotes that a gap or loss in this line made incomplete to the pending quotes.
    void add_incomplete(std::uint64_t line);
    /// Adds the instrument's book to the pending books; kNoInstrument: all books.
    void add_books(feed::InstrumentId concerned);
    void write_losses();
    void write_pending_states();
    void write_pending_quotes();
    void append_to_text(const Gathered& gathered);
    void skip_to(const Gathered::Item& item);
    void skip_rest(const Gathered& gathered);

    Delivery mode_;
    std::string name_;
    const LineLog& log_;
    const Snapshot& snapshot_;
    DepthBooks& books_;
    std::uint64_t next_;       // line to be sent next
    std::uint64_t joined_at_;  // events of the log before the first line that counts
    std::chrono::nanoseconds interval_{0};
    std::int64_t paused_until_ns_{0};
    bool ending_{false};
    std::string failure_;

    Subscriptions subscriptions_;

    bool pending_channels_{true};  // states of channels are pending
    IdSet pending_states_;         // instruments whose newest state is to be sent
    IdSet pending_quotes_;         // instruments whose newest quote is to be sent
    IdSet pending_events_;         // pending quotes that count as an event
    std::uint64_t pending_event_count_{0};
    IdSet pending_books_;                                            // instruments whose whole book is to be sent
    IdSet pending_book_events_;                                      // pending books that count as an event
    std::unordered_map<feed::InstrumentId, std::uint64_t> covered_;  // books that include the lines before that one
    std::uint64_t unreported_losses_{0};

    /// A requested echo; a newer request replaces one that waits.
    struct Echo {
        std::uint64_t number;
        std::uint64_t line;  // the first line after the request
    };
    std::optional<Echo> echo_;
    std::uint64_t flush_end_{0};  // end of the lines that are sent without a pause

    std::string text_;  // text for this client alone: replies, pending quotes, the rest of a partly sent line
    std::size_t text_sent_{0};
    std::uint64_t text_events_{0};  // events in the text
    std::uint64_t text_snapshot_{0};
    Account sums_;  // without queued; published without the lines from joined_at_ on

    Replays* replays_;
    std::shared_ptr<Replay> replay_;  // that was requested; null: none
    std::string replay_unknown_;      // lines about its unknown symbols, which follow its begin
    bool is_parked_{false};           // it has begun
    std::uint64_t offered_{0};        // newest ring entry before next_, that was offered to it; 0: none
    IdSet incomplete_at_offer_;       // instruments whose books the sink did not have then
    Account replayed_;                // its part of sums_
};

}  // namespace millpond::gateway::json_lines
