#include "gateway/json_lines/subscriber.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/json_string.hpp>

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
      joined_at_(log_.events_before(log_.end())) {
    for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) add_snapshot(id);
}

Subscriber::~Subscriber() {
    set_everything(false, {});
    while (!depths_.empty()) set_depth(depths_.begin()->first, {});
}

void Subscriber::add_snapshot(feed::InstrumentId id) {
    if (snapshot_.has_state(id)) pending_states_.insert(id);
    if (snapshot_.has_quote(id)) pending_quotes_.insert(id);
}

Depth Subscriber::depth(feed::InstrumentId id) const noexcept {
    if (everything_) return excluded_.contains(id) ? Depth{} : everything_depth_;
    const auto found = depths_.find(id);
    return found == depths_.end() ? Depth{} : found->second;
}

void Subscriber::set_everything(bool everything, Depth depth) {
    if (everything_depth_.is_on()) books_.demand().remove(feed::kNoInstrument, everything_depth_);
    if (depth.is_on()) books_.demand().add(feed::kNoInstrument, depth);
    everything_ = everything;
    excluded_.clear();
    everything_depth_ = depth;
}

void Subscriber::set_depth(feed::InstrumentId id, Depth depth) {
    if (const auto found = depths_.find(id); found != depths_.end()) {
        books_.demand().remove(id, found->second);
        depths_.erase(found);
    }
    if (!depth.is_on()) return;
    books_.demand().add(id, depth);
    depths_.emplace(id, depth);
    if (books_.has_book(id)) pending_books_.insert(id);
}

void Subscriber::check_depth(const Request& request) const {
    const auto has_orders = [this] {
        return everything_depth_.orders ||
               std::ranges::any_of(wanted_symbols_, [](const auto& one) { return one.second.orders; });
    };
    if (request.mode.value_or(mode_) == Delivery::conflate &&
        (request.depth.orders || (request.mode && has_orders()))) {
        throw RequestError("'orders' needs the mode \"every\"");
    }
    if (!request.depth.is_on()) return;
    std::set<std::string_view> unknown{request.subscribe.begin(), request.subscribe.end()};
    const auto requested = unknown;
    for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) {
        const auto symbol = snapshot_.symbol(id);
        if (!requested.contains(symbol)) continue;
        const auto channel = books_.has_book(id) ? books_.channel(id) : snapshot_.channel(id);
        if (!channel) continue;
        check_depth(symbol, books_.channel_depth(*channel), request.depth);
        unknown.erase(symbol);
    }
    for (const auto symbol : unknown) check_depth(symbol, books_.common_depth(), request.depth);
}

void Subscriber::check_depth(std::string_view symbol, market::ChannelDepth sent, Depth wanted) const {
    if (wanted.levels != 0 && sent.depth == 0) {
        throw RequestError(fmt::format("'depth': the feed of {} sends no levels", symbol));
    }
    if (wanted.levels > sent.depth) {
        throw RequestError(fmt::format("'depth': the feed of {} sends {} levels of a side", symbol, sent.depth));
    }
    if (wanted.orders && !sent.orders) {
        throw RequestError(fmt::format("'orders': the feed of {} sends no orders", symbol));
    }
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
    return pending_channels_ || unreported_losses_ != 0 || !pending_states_.empty() || !pending_quotes_.empty() ||
           !pending_books_.empty() || echo_is_due();
}

void Subscriber::add_instrument(feed::InstrumentId id) {
    if (everything_) return;
    const auto found = wanted_symbols_.find(snapshot_.symbol(id));
    if (found == wanted_symbols_.end()) return;
    wanted_.insert(id);
    set_depth(id, found->second);
}

void Subscriber::apply(const Request& request) {
    if (wanted_symbols_.size() + request.subscribe.size() > kMaxSymbols) {
        reply("error",
              fmt::format("a client may subscribe to at most {} symbols; [\"*\"] subscribes to all", kMaxSymbols));
        return;
    }
    check_depth(request);
    for (const auto& symbol : request.subscribe) {
        if (symbol == "*") {
            set_everything(true, request.depth);
            for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) add_snapshot(id);
            add_books(feed::kNoInstrument);
            continue;
        }
        if (everything_) {
            set_everything(false, {});
            wanted_.clear();
            wanted_symbols_.clear();
        }
        wanted_symbols_.insert_or_assign(symbol, request.depth);
    }
    for (const auto& symbol : request.unsubscribe) {
        if (symbol == "*") {
            wanted_symbols_.clear();
            set_everything(false, {});
        } else if (everything_) {
            reply("error", "all instruments are subscribed: unsubscribe [\"*\"] first, then subscribe to symbols");
            break;
        }
        wanted_symbols_.erase(symbol);
    }
    if (everything_) {
        while (!depths_.empty()) set_depth(depths_.begin()->first, {});
    }
    const std::set<std::string_view> requested{request.subscribe.begin(), request.subscribe.end()};
    if (!everything_ && !(request.subscribe.empty() && request.unsubscribe.empty())) {
        for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) {
            const auto found = wanted_symbols_.find(snapshot_.symbol(id));
            const bool wanted = found != wanted_symbols_.end();
            if (!wanted) wanted_.erase(id);
            if (wanted && wanted_.insert(id)) add_snapshot(id);
            if (!wanted || requested.contains(found->first)) set_depth(id, wanted ? found->second : Depth{});
        }
    }
    if (request.depth.is_on()) reply_unknown(request);
    if (request.mode) mode_ = *request.mode;
    if (request.interval) interval_ = *request.interval;
    if (request.account) reply_account();
    if (request.echo) echo_ = {.number = *request.echo, .line = log_.end()};
}

std::string text_line(std::string_view type, std::string_view text) {
    return fmt::format("{{\"type\":\"{}\",\"text\":{}}}\n", type, core::json_string(text));
}

void Subscriber::reply(std::string_view type, std::string_view text) { text_ += text_line(type, text); }

void Subscriber::reply_unknown(const Request& request) {
    std::set<std::string_view> unknown{request.subscribe.begin(), request.subscribe.end()};
    unknown.erase("*");
    for (feed::InstrumentId id = 0; id < snapshot_.size() && !unknown.empty(); ++id)
        unknown.erase(snapshot_.symbol(id));
    for (const auto symbol : unknown) {
        text_ += fmt::format("{{\"type\":\"unknown\",\"symbol\":{}}}\n", core::json_string(symbol));
    }
}

void Subscriber::reply_account() {
    const auto now = account();
    text_ += fmt::format(
        "{{\"type\":\"account\",\"published\":{},\"delivered\":{},\"filtered\":{},\"conflated\":{},\"missed\":{},"
        "\"queued\":{},\"snapshot\":{}}}\n",
        now.published, now.delivered, now.filtered, now.conflated, now.missed, now.queued, now.snapshot);
}

void Subscriber::end(std::string_view reason) {
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
    result.published = log_.events_before(log_.end()) - joined_at_;
    result.queued = log_.events_before(log_.end()) - log_.events_before(next_) + pending_event_count_ + text_events_;
    return result;
}

void Subscriber::drop_before(std::uint64_t oldest) {
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
    if (unreported_losses_ != 0) {
        text_ += fmt::format("{{\"type\":\"missed\",\"count\":{}}}\n", unreported_losses_);
        unreported_losses_ = 0;
    }
    if (std::exchange(pending_channels_, false)) text_snapshot_ += snapshot_.write_channels(next_, text_);
    write_pending_states();
    write_pending_quotes();
    write_pending_books();
    if (pending_states_.empty() && pending_quotes_.empty() && pending_books_.empty() && echo_is_due()) {
        text_ += fmt::format("{{\"type\":\"echo\",\"echo\":{}}}\n", echo_->number);
        echo_.reset();
    }
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
        check_depth(snapshot_.symbol(id), books_.channel_depth(books_.channel(id).value()), wanted);
    } catch (const RequestError& error) {  // a feed that was added or changed after the subscription
        reply("error", error.what());
        if (mode_ == Delivery::conflate) {
            books_.write_book(id, 0, snapshot_.json_symbol(id), text_);
            ++text_snapshot_;
        } else {
            text_snapshot_ += books_.write_empty(id, wanted, snapshot_.json_symbol(id), text_);
        }
        if (everything_) {
            excluded_.insert(id);
        } else {
            set_depth(id, {});
        }
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
