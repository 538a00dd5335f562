#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/gateway/json_lines/book_client.hpp"
#include "tests/gateway/sinks/events.hpp"

namespace millpond::gateway {

/// What a client makes of its JSON lines, without code of the sink: the sequence of events, its books after each
/// change, and what it lost. One that replays begins with the line `replay`.
class ReplayRecorder {
public:
    struct Range {
        std::uint64_t first;
        std::uint64_t last;
    };
    /// A book after a change; `incomplete` ones are not compared.
    struct State {
        bool complete{false};
        std::vector<std::pair<feed::Price, BookSide::Total>> bids;
        std::vector<std::pair<feed::Price, BookSide::Total>> asks;
        std::vector<BookClient::Order> orders;
        friend bool operator==(const State&, const State&) = default;
    };
    struct Book {
        BookClient client;
        std::uint64_t now{0};                                  ///< Sequence of the newest line about it.
        std::map<std::uint64_t, std::vector<State>> states{};  ///< By `now`: it may become incomplete without an event.
    };

    /// replays: ignores what comes before the line `replay`.
    explicit ReplayRecorder(std::size_t depth, bool replays = false) : depth_(depth), begun_(!replays) {}

    void add(std::string_view line) {
        const auto type = text_in(line, "type");
        types.emplace_back(type);
        if (type == "\"replay\"") return begin();
        if (type == "\"error\"" || type == "\"bye\"") errors.emplace_back(line);
        if (type == "\"account\"") accounts.emplace_back(line);
        if (type == "\"echo\"") {
            ++echoes;
            echoed_live = is_live;
        }
        if (!begun_ && type == "\"missed\"") missed_before += static_cast<std::uint64_t>(number_in(line, "count"));
        if (!begun_ || type == "\"error\"" || type == "\"bye\"" || type == "\"account\"" || type == "\"echo\"") return;
        if (type == "\"live\"" || type == "\"gap\"" || type == "\"missed\"") resends_ = true;
        if (type == "\"live\"") {
            is_live = true;
            ++lives;
            live_line = line;
            if (first == 0) first = static_cast<std::uint64_t>(number_in(line, "sequence")) + 1;
            return;
        }
        if (type == "\"restart\"") {
            auto before = *this;
            before.earlier.clear();
            earlier.push_back(std::move(before));
            last_of_earlier = static_cast<std::uint64_t>(number_in(line, "last"));
            first = newest_event_ = 0;
            events.clear();
            books.clear();
            missed.clear();
            newest.clear();
            return;
        }
        if (type == "\"missed\"") return add_missed(line);
        if (type == "\"unknown\"") return;
        const auto sequence = static_cast<std::uint64_t>(number_in(line, "sequence"));
        if (first == 0) first = sequence;
        if (type == "\"level\"" || type == "\"order\"") return change_book(line, sequence);
        if (type == "\"clear\"") clear_books(line, sequence);
        if (type == "\"quote\"" || type == "\"status\"") {
            auto& known = newest[newest_key(type, line)];
            if (!known.empty() && static_cast<std::uint64_t>(number_in(known, "sequence")) > sequence) {
                older.emplace_back(line);
            }
            known = line;
        }
        // A quote that a gap made incomplete is sent again, and is no event.
        if (type == "\"quote\"" && line.find("\"incomplete\":true") != std::string_view::npos) {
            ++incomplete_quotes;
            return;
        }
        if (is_resent(type, sequence)) return;
        if (sequence > newest_event_) resends_ = false;
        newest_event_ = sequence;
        events.emplace_back(sequence, line);
    }

    /// Of a quote or state: its type, and its symbol or, of a channel's state, its channel.
    [[nodiscard]] static std::string newest_key(std::string_view type, std::string_view line) {
        const auto symbol = text_in(line, "symbol");
        const bool is_of_channel = symbol.empty() || symbol == "null";
        return std::string{type} + std::string{is_of_channel ? text_in(line, "channel") : symbol};
    }
    [[nodiscard]] bool has_begun() const { return begun_; }
    [[nodiscard]] bool has_lost(std::uint64_t sequence) const {
        return std::ranges::any_of(
            missed, [&](const Range& range) { return range.first <= sequence && sequence <= range.last; });
    }
    [[nodiscard]] std::uint64_t missed_count() const {
        std::uint64_t count = 0;
        for (const auto& range : missed) count += range.last - range.first + 1;
        return count;
    }

    std::uint64_t first{0};                                     ///< Of its first line.
    std::vector<std::pair<std::uint64_t, std::string>> events;  ///< With their sequences; not those of books.
    std::map<std::string, Book> books;                          ///< By symbol, with quotation marks.
    std::vector<Range> missed;
    std::uint64_t missed_of_client{0};  ///< Events that it missed because it was slow.
    std::uint64_t missed_before{0};     ///< Events that it missed before the replay.
    std::vector<std::string> errors;
    std::vector<std::string> accounts;
    std::string live_line;
    int lives{0};  ///< Replays that have ended.
    int incomplete_quotes{0};
    std::map<std::string, std::string> newest;  ///< Newest quotes and states, by newest_key.
    std::vector<std::string> older;             ///< Quotes and states that replaced newer ones.
    std::vector<std::string> types;             ///< Of all lines.
    std::vector<ReplayRecorder> earlier;        ///< What came before the lines `restart`.
    std::uint64_t last_of_earlier{0};
    int echoes{0};
    bool echoed_live{false};
    bool is_live{false};

private:
    /// What came before a replay is void.
    void begin() {
        if (begun_) missed_before += missed_count() + missed_of_client;
        begun_ = true;
        is_live = false;
        resends_ = false;
        newest.clear();
        first = newest_event_ = missed_of_client = 0;
        events.clear();
        books.clear();
        missed.clear();
        earlier.clear();
        channels_.clear();
    }
    /// Quotes and states that are sent when a client goes live, or after a loss, are older than the events before them.
    [[nodiscard]] bool is_resent(std::string_view type, std::uint64_t sequence) const {
        return sequence <= newest_event_ && resends_ && (type == "\"quote\"" || type == "\"status\"");
    }
    void add_missed(std::string_view line) {
        if (line.find("\"first\"") == std::string_view::npos) {
            missed_of_client += static_cast<std::uint64_t>(number_in(line, "count"));
            return;
        }
        missed.push_back({static_cast<std::uint64_t>(number_in(line, "first")),
                          static_cast<std::uint64_t>(number_in(line, "last"))});
    }
    Book& book(std::string_view symbol) {
        const auto found = books.find(std::string{symbol});
        return found != books.end() ? found->second
                                    : books.emplace(symbol, Book{.client = BookClient{depth_}}).first->second;
    }
    void change_book(std::string_view line, std::uint64_t sequence) {
        auto& one = book(text_in(line, "symbol"));
        channels_[std::string{text_in(line, "symbol")}] = text_in(line, "channel");
        one.now = std::max(one.now, sequence);
        if (one.client.apply(line)) record(one);
    }
    /// The book is that of this line's time then, also if a newer snapshot came before it: another one follows.
    void clear_books(std::string_view line, std::uint64_t sequence) {
        for (auto& [symbol, one] : books) {
            if (channels_[symbol] != text_in(line, "channel")) continue;
            const auto of = text_in(line, "symbol");
            if (!of.empty() && of != "null" && of != symbol) continue;
            one.now = sequence;
            one.client.apply(line);
            record(one);
        }
    }
    static void record(Book& one) {
        State state{.complete = one.client.complete,
                    .bids = one.client.bids.best(one.client.depth),
                    .asks = one.client.asks.best(one.client.depth),
                    .orders = one.client.orders};
        // By level; those of a level are in the order of their priority.
        std::ranges::stable_sort(state.orders, {},
                                 [](const BookClient::Order& order) { return std::pair{order.side, order.price}; });
        one.states[one.now].push_back(std::move(state));
    }

    std::size_t depth_;
    bool begun_;
    std::uint64_t newest_event_{0};
    bool resends_{false};  // no event has followed yet after which quotes and states are sent again
    std::map<std::string, std::string> channels_;
};

}  // namespace millpond::gateway
