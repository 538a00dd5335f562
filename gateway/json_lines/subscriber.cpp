#include "gateway/json_lines/subscriber.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/json_string.hpp>

#include "gateway/json_lines/replay.hpp"
#include "gateway/json_lines/replays.hpp"

namespace millpond::gateway::json_lines {
namespace {

/// Whether a line that every client gets makes books void or incomplete.
constexpr bool is_about_books(LineKind kind) {
    return kind == LineKind::gap || kind == LineKind::loss || kind == LineKind::clear;
}

}  // namespace

Subscriber::Subscriber(Delivery mode, const Source& source)
    : mode_(mode),
      log_(source.lines),
      snapshot_(source.snapshot),
      books_(source.books),
      next_(log_.end()),
      joined_at_(log_.events_before(log_.end())),
      subscriptions_(source.snapshot, source.books, source.entitlement),
      replays_(source.replays) {
    for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) add_snapshot(id);
}

void Subscriber::add_snapshot(feed::InstrumentId id) {
    if (snapshot_.has_state(id)) pending_states_.insert(id);
    if (snapshot_.has_quote(id)) pending_quotes_.insert(id);
}

void Subscriber::add_incomplete(std::uint64_t line) {
    const auto kind = log_[line].kind;
    if (has_depth() && is_about_books(kind)) {
        const auto concerned = log_[line].instrument;
        // The client takes a book that is newer than this line for void or incomplete now.
        for (const auto& [id, end] : covered_) {
            if (end > line && (concerned == feed::kNoInstrument || concerned == id)) pending_books_.insert(id);
        }
        for (feed::InstrumentId id = 0; id < books_.size(); ++id) {
            if (books_.is_marked_by(id, line) && depth(id).is_on()) pending_books_.insert(id);
        }
    }
    if (kind != LineKind::gap && kind != LineKind::loss) return;
    for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) {
        if (wants(id) && snapshot_.is_marked_by(id, line)) pending_quotes_.insert(id);
    }
}

void Subscriber::add_books(feed::InstrumentId concerned) {
    for (feed::InstrumentId id = 0; id < books_.size(); ++id) {
        if (concerned != feed::kNoInstrument && concerned != id) continue;
        if (books_.has_book(id) && depth(id).is_on()) pending_books_.insert(id);
    }
}

bool Subscriber::has_pending() const noexcept {
    if (replay_ && replay_->has_part()) return true;
    if (is_parked_) return false;
    return pending_channels_ || unreported_losses_ != 0 || !pending_states_.empty() || !pending_quotes_.empty() ||
           !pending_books_.empty() || echo_is_due();
}

void Subscriber::add_instrument(feed::InstrumentId id) {
    if (subscriptions_.add_instrument(id) && !is_parked_ && books_.has_book(id)) pending_books_.insert(id);
}

void Subscriber::apply(const Request& request) {
    check_replay(request);
    subscriptions_.check(request, mode_);
    if (request.from) {
        start_replay(request);
    } else {
        const auto change = subscriptions_.apply(request);
        for (const auto id : change.added) add_snapshot(id);
        for (const auto id : change.books) {
            if (books_.has_book(id)) pending_books_.insert(id);
        }
        if (!change.refusal.empty()) reply("error", change.refusal);
    }
    if (request.from) replay_unknown_.clear();
    if (request.depth.is_on()) {
        for (const auto symbol : subscriptions_.unknown(request)) {
            (request.from ? replay_unknown_ : text_) +=
                fmt::format("{{\"type\":\"unknown\",\"symbol\":{}}}\n", core::json_string(symbol));
        }
    }
    if (request.mode && !request.from) mode_ = *request.mode;
    if (request.interval) interval_ = *request.interval;
    if (request.name) name_ = *request.name;
    if (request.account) reply_account();
    if (request.echo) echo_ = {.number = *request.echo, .line = log_.end()};
}

std::string text_line(std::string_view type, std::string_view text) {
    return fmt::format("{{\"type\":\"{}\",\"text\":{}}}\n", type, core::json_string(text));
}

void Subscriber::reply(std::string_view type, std::string_view text) { text_ += text_line(type, text); }

void Subscriber::reply_account() {
    const auto now = account();
    text_ += fmt::format(
        "{{\"type\":\"account\",\"published\":{},\"delivered\":{},\"filtered\":{},\"conflated\":{},\"missed\":{},"
        "\"queued\":{},\"snapshot\":{}}}\n",
        now.published, now.delivered, now.filtered, now.conflated, now.missed, now.queued, now.snapshot);
}

void Subscriber::end(std::string_view reason) {
    end_replay();
    // Completes a partly sent line, so that the reason stays readable, and drops the lines after it.
    const auto line_end = text_sent_ == 0 ? std::string::npos : text_.find('\n', text_sent_ - 1);
    const auto kept = text_sent_ == 0 ? 0 : line_end == std::string::npos ? text_.size() : line_end + 1;
    text_.resize(kept);
    const auto finishing = std::min<std::uint64_t>(text_events_, kept > text_sent_ ? 1 : 0);
    sums_.missed += text_events_ - finishing;
    text_events_ = finishing;
    text_snapshot_ = 0;
    reply("bye", reason);
    ending_ = true;
}

Account Subscriber::account() const noexcept {
    auto result = sums_;
    result.queued = pending_event_count_ + text_events_;
    if (is_parked_) return result;
    const auto end = log_.events_before(log_.end());
    result.published += end - joined_at_;
    result.queued += end - log_.events_before(next_);
    return result;
}

void Subscriber::drop_before(std::uint64_t oldest) {
    if (is_parked_) {
        if (next_ >= oldest) return;
        next_ = oldest;
        // The replay reads on, and gets another offer.
        if (std::exchange(offered_, 0) != 0) replay_->offer(0);
        return;
    }
    for (; next_ < oldest; ++next_) {
        const auto& line = log_[next_];
        if (is_of_book(line.kind)) {
            drop_book_line(line, next_);
        } else if (!wants(line.instrument)) {
            sums_.filtered += line.events;
        } else if (mode_ == Delivery::conflate && line.kind == LineKind::quote) {
            pending_quotes_.insert(line.instrument);
            // Replaces an older pending quote, or is replaced if a newer line follows: one quote is conflated either
            // way.
            if (pending_events_.insert(line.instrument)) {
                ++pending_event_count_;
            } else {
                ++sums_.conflated;
            }
        } else {
            sums_.missed += line.events;
            unreported_losses_ += line.events;
            add_incomplete(next_);
            if (line.kind == LineKind::clear) add_books(line.instrument);
        }
    }
}

void Subscriber::write_pending() {
    if (replay_) write_replay();
    if (is_parked_) return;
    if (unreported_losses_ != 0) write_losses();
    if (std::exchange(pending_channels_, false)) text_snapshot_ += snapshot_.write_channels(next_, text_);
    write_pending_states();
    write_pending_quotes();
    write_pending_books();
    if (pending_states_.empty() && pending_quotes_.empty() && pending_books_.empty() && echo_is_due()) {
        text_ += fmt::format("{{\"type\":\"echo\",\"echo\":{}}}\n", echo_->number);
        echo_.reset();
    }
}

void Subscriber::write_losses() {
    text_ += fmt::format("{{\"type\":\"missed\",\"count\":{}}}\n", std::exchange(unreported_losses_, 0));
}

void Subscriber::write_pending_states() {
    while (text_.size() < kMaxText) {
        const auto id = pending_states_.pop_next();
        if (id == feed::kNoInstrument) return;
        const auto line = snapshot_.state_line(id);
        const bool newer_line_follows = line != Snapshot::kNoLine && line >= next_;
        if (newer_line_follows || !wants(id)) continue;
        snapshot_.write_state(id, text_);
        ++text_snapshot_;
    }
}

void Subscriber::write_pending_quotes() {
    while (text_.size() < kMaxText) {
        const auto id = pending_quotes_.pop_next();
        if (id == feed::kNoInstrument) return;
        const bool event = pending_events_.erase(id);
        if (event) --pending_event_count_;
        const auto line = snapshot_.line(id);
        const bool newer_line_follows = line != Snapshot::kNoLine && line >= next_;
        if (!snapshot_.has_quote(id) || newer_line_follows || !wants(id)) {
            if (event) ++(wants(id) ? sums_.conflated : sums_.filtered);
            continue;
        }
        snapshot_.write(id, text_);
        ++(event ? text_events_ : text_snapshot_);
    }
}

void Subscriber::write_pending_books() {
    while (text_.size() < kMaxText) {
        const auto id = pending_books_.pop_next();
        if (id == feed::kNoInstrument) return;
        const bool event = pending_book_events_.erase(id);
        if (event) --pending_event_count_;
        if (!depth(id).is_on() || !write_book(id)) {
            if (event) ++sums_.filtered;
            continue;
        }
        if (!event) continue;
        ++text_events_;
        --text_snapshot_;
    }
}

bool Subscriber::write_book(feed::InstrumentId id) {
    const auto wanted = depth(id);
    try {
        Subscriptions::check_depth(snapshot_.symbol(id), books_.channel_depth(books_.channel(id).value()), wanted);
    } catch (const RequestError& error) {  // a feed that was added or changed after the subscription
        reply("error", error.what());
        if (mode_ == Delivery::conflate) {
            books_.write_book(id, 0, snapshot_.json_symbol(id), text_);
            ++text_snapshot_;
        } else {
            text_snapshot_ += books_.write_empty(id, wanted, snapshot_.json_symbol(id), text_);
        }
        subscriptions_.drop_depth(id);
        return false;
    }
    covered_.insert_or_assign(id, log_.end());
    if (mode_ == Delivery::conflate) {
        books_.write_book(id, wanted.levels, snapshot_.json_symbol(id), text_);
        ++text_snapshot_;
    } else {
        text_snapshot_ += books_.write_events(id, wanted, snapshot_.json_symbol(id), text_);
    }
    return true;
}

void Subscriber::on_text_sent(std::size_t bytes) {
    text_sent_ += bytes;
    if (text_sent_ < text_.size()) return;
    sums_.delivered += std::exchange(text_events_, 0);
    sums_.snapshot += std::exchange(text_snapshot_, 0);
    text_.clear();
    if (text_.capacity() > 4 * kMaxText) text_.shrink_to_fit();  // a book was longer
    text_sent_ = 0;
    if (next_ == log_.end()) covered_.clear();
}

Subscriber::BookLine Subscriber::outcome(const Line& line, std::uint64_t number) const noexcept {
    const auto wanted = depth(line.instrument);
    if (!wanted.is_on()) return BookLine::filtered;
    if (!covered_.empty()) {
        const auto found = covered_.find(line.instrument);
        if (found != covered_.end() && number < found->second) return BookLine::covered;
    }
    if (line.kind == LineKind::book) return BookLine::whole;
    if (line.kind == LineKind::order ? !wanted.orders : wanted.levels == 0) return BookLine::filtered;
    if (wanted.levels < line.min_levels || wanted.levels > line.max_levels) return BookLine::filtered;
    return mode_ == Delivery::conflate ? BookLine::conflated : BookLine::sent;
}

void Subscriber::skip_book_lines(std::uint64_t begin, std::uint64_t end) {
    if (!has_depth()) return;  // gather() has counted them
    for (auto number = begin; number < end; ++number) {
        const auto& line = log_[number];
        if (is_of_book(line.kind)) add_pending_book(line, outcome(line, number));
    }
}

void Subscriber::add_pending_book(const Line& line, BookLine outcome) {
    if (outcome == BookLine::filtered) {
        sums_.filtered += line.events;
        return;
    }
    if (outcome != BookLine::covered) pending_books_.insert(line.instrument);
    auto events = line.events;
    if (outcome == BookLine::conflated && events != 0 && pending_book_events_.insert(line.instrument)) {
        ++pending_event_count_;
        --events;
    }
    sums_.conflated += events;
}

void Subscriber::drop_book_line(const Line& line, std::uint64_t number) {
    const auto result = outcome(line, number);
    if (result != BookLine::sent) return add_pending_book(line, result);
    pending_books_.insert(line.instrument);
    sums_.missed += line.events;
    unreported_losses_ += line.events;
}

void Subscriber::gather(Gathered& gathered) const {
    const bool with_depth = has_depth();
    bool makes_pending = false;
    auto& number = gathered.end;
    for (number = next_; number < log_.end() && gathered.count < kMaxLines; ++number) {
        const auto& line = log_[number];
        if (is_of_book(line.kind)) {
            if (!with_depth) {
                gathered.filtered += line.events;
                continue;
            }
            const auto result = outcome(line, number);  // skip_book_lines accounts for lines that are not sent
            if (result == BookLine::whole) {
                ++number;
                return;
            }
            makes_pending = makes_pending || result == BookLine::conflated;
            if (result != BookLine::sent) continue;
            gathered.filtered -= line.moved_events;
        } else if (!wants(line.instrument)) {
            gathered.filtered += line.events;
            continue;
        } else if (line.kind == LineKind::quote) {
            if (mode_ == Delivery::conflate && snapshot_.line(line.instrument) != number) {
                ++gathered.conflated;
                continue;
            }
        } else if (makes_pending) {
            return;
        }
        const auto text = line.view();
        gathered.items[gathered.count++] = {{const_cast<char*>(text.data()), text.size()},
                                            number,
                                            std::exchange(gathered.filtered, 0),
                                            std::exchange(gathered.conflated, 0)};
        if (with_depth && is_about_books(line.kind)) {
            ++number;
            return;
        }
    }
}

void Subscriber::skip_to(const Gathered::Item& item) {
    skip_book_lines(next_, item.line);
    sums_.filtered += item.filtered;
    sums_.conflated += item.conflated;
    next_ = item.line + 1;
    add_incomplete(item.line);
}

void Subscriber::settle(const Gathered& gathered, std::size_t bytes) {
    for (std::size_t i = 0; i < gathered.count; ++i) {
        const auto& item = gathered.items[i];
        if (bytes == 0) return;  // the events skipped before it are counted next time
        skip_to(item);
        const auto& line = log_[item.line];
        if (bytes < item.bytes.iov_len) {
            text_ = line.view();
            text_sent_ = bytes;
            text_events_ = line.kind == LineKind::loss ? 0 : line.events + line.moved_events;
            if (line.kind == LineKind::loss) sums_.missed += line.events;
            return;
        }
        bytes -= item.bytes.iov_len;
        (line.kind == LineKind::loss ? sums_.missed : sums_.delivered) += line.events + line.moved_events;
    }
    skip_rest(gathered);
}

void Subscriber::append_to_text(const Gathered& gathered) {
    for (std::size_t i = 0; i < gathered.count; ++i) {
        const auto& item = gathered.items[i];
        skip_to(item);
        const auto& line = log_[item.line];
        text_ += line.view();
        (line.kind == LineKind::loss ? sums_.missed : text_events_) += line.events + line.moved_events;
    }
    skip_rest(gathered);
}

void Subscriber::skip_rest(const Gathered& gathered) {
    skip_book_lines(next_, gathered.end);
    sums_.filtered += gathered.filtered;
    sums_.conflated += gathered.conflated;
    next_ = gathered.end;
}

void Subscriber::consume(const LineRuns::Run& run) noexcept {
    sums_.conflated += run.conflated;
    sums_.filtered += run.filtered;
    text_events_ += run.events;
    next_ = run.end;
}

void Subscriber::fill(std::int64_t now_ns) {
    if (next_ >= flush_end_) flush_end_ = log_.end();
    for (;;) {
        write_pending();
        if (has_pending() || !has_lines() || text_.size() >= kMaxText) break;
        Gathered gathered;
        gather(gathered);
        append_to_text(gathered);
    }
    if (!text_.empty() && !has_pending() && next_ >= flush_end_) pause_from(now_ns);
}

}  // namespace millpond::gateway::json_lines
