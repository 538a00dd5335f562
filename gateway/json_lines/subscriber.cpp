#include "gateway/json_lines/subscriber.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/json_string.hpp>

namespace millpond::gateway::json_lines {
Subscriber::Subscriber(Delivery mode, const LineLog& log, const Standing& standing)
    : mode_(mode), log_(log), standing_(standing), next_(log.end()), joined_at_(log.events_before(log.end())) {
    for (feed::InstrumentId id = 0; id < standing_.size(); ++id) owe_board(id);
}

void Subscriber::owe_board(feed::InstrumentId id) {
    if (standing_.has_state(id)) owed_states_.insert(id);
    if (standing_.has_quote(id)) owed_.insert(id);
}

void Subscriber::owe_marked(std::uint64_t line) {
    const auto kind = log_[line].kind;
    if (kind != LineKind::gap && kind != LineKind::loss) return;
    for (feed::InstrumentId id = 0; id < standing_.size(); ++id) {
        if (wants(id) && standing_.is_marked_by(id, line)) owed_.insert(id);
    }
}

bool Subscriber::owes() const noexcept {
    return owes_channels_ || untold_losses_ != 0 || !owed_states_.empty() || !owed_.empty() || echo_is_due();
}

void Subscriber::named(feed::InstrumentId id) {
    if (!everything_ && wanted_symbols_.contains(standing_.symbol(id))) wanted_.insert(id);
}

void Subscriber::obey(const Request& request) {
    if (wanted_symbols_.size() + request.subscribe.size() > kMostSymbols) {
        tell("error",
             fmt::format("a client may subscribe to at most {} symbols; [\"*\"] subscribes to all", kMostSymbols));
        return;
    }
    for (const auto& symbol : request.subscribe) {
        if (symbol == "*") {
            everything_ = true;
            for (feed::InstrumentId id = 0; id < standing_.size(); ++id) owe_board(id);
            continue;
        }
        if (everything_) {
            everything_ = false;
            wanted_.clear();
            wanted_symbols_.clear();
        }
        wanted_symbols_.insert(symbol);
    }
    for (const auto& symbol : request.unsubscribe) {
        if (symbol == "*") {
            wanted_symbols_.clear();
            everything_ = false;
        } else if (everything_) {
            tell("error", "all instruments are subscribed: unsubscribe [\"*\"] first, then subscribe to symbols");
            break;
        }
        wanted_symbols_.erase(symbol);
    }
    if (!everything_ && !(request.subscribe.empty() && request.unsubscribe.empty())) {
        for (feed::InstrumentId id = 0; id < standing_.size(); ++id) {
            const bool wanted = wanted_symbols_.contains(standing_.symbol(id));
            if (!wanted) wanted_.erase(id);
            if (wanted && wanted_.insert(id)) owe_board(id);
        }
    }
    if (request.mode) mode_ = *request.mode;
    if (request.interval) interval_ = *request.interval;
    if (request.account) tell_account();
    if (request.echo) echo_ = {.number = *request.echo, .line = log_.end()};
}

std::string text_line(std::string_view type, std::string_view text) {
    return fmt::format("{{\"type\":\"{}\",\"text\":{}}}\n", type, core::json_string(text));
}

void Subscriber::tell(std::string_view type, std::string_view text) { text_ += text_line(type, text); }

void Subscriber::tell_account() {
    const auto now = account();
    text_ += fmt::format(
        "{{\"type\":\"account\",\"published\":{},\"delivered\":{},\"filtered\":{},\"conflated\":{},\"missed\":{},"
        "\"queued\":{},\"snapshot\":{}}}\n",
        now.published, now.delivered, now.filtered, now.conflated, now.missed, now.queued, now.snapshot);
}

void Subscriber::end(std::string_view reason) {
    // A partly sent line is finished, or the reason would be unreadable; what waits after it is dropped.
    const auto line_end = text_sent_ == 0 ? std::string::npos : text_.find('\n', text_sent_ - 1);
    const auto kept = text_sent_ == 0 ? 0 : line_end == std::string::npos ? text_.size() : line_end + 1;
    text_.resize(kept);
    const auto finishing = std::min<std::uint64_t>(text_events_, kept > text_sent_ ? 1 : 0);
    sums_.missed += text_events_ - finishing;
    text_events_ = finishing;
    text_snapshot_ = 0;
    tell("bye", reason);
    ending_ = true;
}

Account Subscriber::account() const noexcept {
    auto result = sums_;
    result.published = log_.events_before(log_.end()) - joined_at_;
    result.queued = log_.events_before(log_.end()) - log_.events_before(next_) + owed_count_ + text_events_;
    return result;
}

void Subscriber::leave_behind(std::uint64_t oldest) {
    for (; next_ < oldest; ++next_) {
        const auto& line = log_[next_];
        if (!wants(line.instrument)) {
            sums_.filtered += line.events;
        } else if (mode_ == Delivery::conflate && line.kind == LineKind::quote) {
            owed_.insert(line.instrument);
            // An older quote that was owed, or this one if a newer line follows: either way one is replaced.
            if (owed_events_.insert(line.instrument)) {
                ++owed_count_;
            } else {
                ++sums_.conflated;
            }
        } else {
            sums_.missed += line.events;
            untold_losses_ += line.events;
            owe_marked(next_);
        }
    }
}

void Subscriber::write_owed() {
    if (untold_losses_ != 0) {
        text_ += fmt::format("{{\"type\":\"missed\",\"count\":{}}}\n", untold_losses_);
        untold_losses_ = 0;
    }
    if (std::exchange(owes_channels_, false)) text_snapshot_ += standing_.write_channels(next_, text_);
    write_owed_states();
    write_owed_quotes();
    if (owed_states_.empty() && owed_.empty() && echo_is_due()) {
        text_ += fmt::format("{{\"type\":\"echo\",\"echo\":{}}}\n", echo_->number);
        echo_.reset();
    }
}

void Subscriber::write_owed_states() {
    while (text_.size() < kMostText) {
        const auto id = owed_states_.take_next();
        if (id == feed::kNoInstrument) return;
        const auto line = standing_.state_line(id);
        const bool newer_line_follows = line != Standing::kNoLine && line >= next_;
        if (newer_line_follows || !wants(id)) continue;
        standing_.write_state(id, text_);
        ++text_snapshot_;
    }
}

void Subscriber::write_owed_quotes() {
    while (text_.size() < kMostText) {
        const auto id = owed_.take_next();
        if (id == feed::kNoInstrument) return;
        const bool event = owed_events_.erase(id);
        if (event) --owed_count_;
        const auto line = standing_.line(id);
        const bool newer_line_follows = line != Standing::kNoLine && line >= next_;
        if (!standing_.has_quote(id) || newer_line_follows || !wants(id)) {
            if (event) ++(wants(id) ? sums_.conflated : sums_.filtered);
            continue;
        }
        standing_.write(id, text_);
        ++(event ? text_events_ : text_snapshot_);
    }
}

void Subscriber::text_went_out(std::size_t bytes) {
    text_sent_ += bytes;
    if (text_sent_ < text_.size()) return;
    sums_.delivered += std::exchange(text_events_, 0);
    sums_.snapshot += std::exchange(text_snapshot_, 0);
    text_.clear();
    text_sent_ = 0;
}

void Subscriber::gather(Gathered& gathered) const {
    auto& number = gathered.end;
    for (number = next_; number < log_.end() && gathered.count < kMostLines; ++number) {
        const auto& line = log_[number];
        if (!wants(line.instrument)) {
            gathered.filtered += line.events;
        } else if (mode_ == Delivery::conflate && line.kind == LineKind::quote &&
                   standing_.line(line.instrument) != number) {
            ++gathered.conflated;
        } else {
            const auto text = line.view();
            gathered.items[gathered.count++] = {{const_cast<char*>(text.data()), text.size()},
                                                number,
                                                std::exchange(gathered.filtered, 0),
                                                std::exchange(gathered.conflated, 0)};
        }
    }
}

void Subscriber::pass_over(const Gathered::Item& item) {
    sums_.filtered += item.filtered;
    sums_.conflated += item.conflated;
    next_ = item.line + 1;
    owe_marked(item.line);
}

void Subscriber::settle(const Gathered& gathered, std::size_t bytes) {
    for (std::size_t i = 0; i < gathered.count; ++i) {
        const auto& item = gathered.items[i];
        if (bytes == 0) return;  // the skipped part before it is checked again
        pass_over(item);
        const auto& line = log_[item.line];
        if (bytes < item.bytes.iov_len) {
            text_ = line.view();
            text_sent_ = bytes;
            text_events_ = line.kind == LineKind::loss ? 0 : line.events;
            if (line.kind == LineKind::loss) sums_.missed += line.events;
            return;
        }
        bytes -= item.bytes.iov_len;
        (line.kind == LineKind::loss ? sums_.missed : sums_.delivered) += line.events;
    }
    pass_the_end(gathered);
}

void Subscriber::take_into_text(const Gathered& gathered) {
    for (std::size_t i = 0; i < gathered.count; ++i) {
        const auto& item = gathered.items[i];
        pass_over(item);
        const auto& line = log_[item.line];
        text_ += line.view();
        (line.kind == LineKind::loss ? sums_.missed : text_events_) += line.events;
    }
    pass_the_end(gathered);
}

void Subscriber::pass_the_end(const Gathered& gathered) {
    sums_.filtered += gathered.filtered;
    sums_.conflated += gathered.conflated;
    next_ = gathered.end;
}

void Subscriber::take(const LineRuns::Run& run) noexcept {
    sums_.conflated += run.conflated;
    text_events_ += run.events;
    next_ = run.end;
}

void Subscriber::fill(std::int64_t now_ns) {
    if (next_ >= flush_end_) flush_end_ = log_.end();
    for (;;) {
        write_owed();
        if (owes() || !has_lines() || text_.size() >= kMostText) break;
        Gathered gathered;
        gather(gathered);
        take_into_text(gathered);
    }
    if (!text_.empty() && !owes() && next_ >= flush_end_) rest_from(now_ns);
}

}  // namespace millpond::gateway::json_lines
