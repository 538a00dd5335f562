#include "gateway/sinks/tcp/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

namespace millpond::gateway::tcp {
namespace {

void append_escaped(std::string& out, std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte > 0x7E) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
    }
}

/// Bytes that the socket took, -1 with errno when none.
ssize_t send_some(int socket, const iovec* parts, std::size_t count) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = count;
    ssize_t sent = 0;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent;
}

Flow refused() { return errno == EAGAIN || errno == EWOULDBLOCK ? Flow::blocked : Flow::broken; }

}  // namespace

Client::Client(int socket, Delivery mode, const LineLog& log, const Standing& standing, std::int64_t now_ns)
    : socket_(socket),
      mode_(mode),
      log_(log),
      standing_(standing),
      next_(log.end()),
      joined_at_(log.events_before(log.end())),
      alive_ns_(now_ns) {
    for (feed::InstrumentId id = 0; id < standing_.size(); ++id) owe_board(id);
}

void Client::owe_board(feed::InstrumentId id) {
    if (standing_.has_state(id)) owed_states_.insert(id);
    if (standing_.has_quote(id)) owed_.insert(id);
}

bool Client::owes() noexcept {
    return owes_channels_ || untold_losses_ != 0 || owed_states_.first() != feed::kNoInstrument ||
           owed_.first() != feed::kNoInstrument;
}

void Client::named(feed::InstrumentId id) {
    if (!everything_ && wanted_symbols_.contains(standing_.symbol(id))) wanted_.insert(id);
}

void Client::obey(const Request& request) {
    if (wanted_symbols_.size() + request.subscribe.size() > kMostSymbols) {
        tell("error",
             fmt::format("a client may subscribe to {} symbols one by one; [\"*\"] is everything", kMostSymbols));
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
            tell("error", "everything is subscribed: unsubscribe [\"*\"] first, then subscribe to what is wanted");
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
    if (request.account) tell_account();
}

void Client::tell(std::string_view type, std::string_view text) {
    text_ += fmt::format("{{\"type\":\"{}\",\"text\":\"", type);
    append_escaped(text_, text);
    text_ += "\"}\n";
}

void Client::tell_account() {
    const auto now = account();
    text_ += fmt::format(
        "{{\"type\":\"account\",\"published\":{},\"delivered\":{},\"filtered\":{},\"conflated\":{},\"missed\":{},"
        "\"queued\":{},\"snapshot\":{}}}\n",
        now.published, now.delivered, now.filtered, now.conflated, now.missed, now.queued, now.snapshot);
}

void Client::end(std::string_view reason) {
    // A line of which a part went out is finished, or the reason would be unreadable; what waits behind it is dropped.
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

Account Client::account() const noexcept {
    auto result = sums_;
    result.published = log_.events_before(log_.end()) - joined_at_;
    result.queued = log_.events_before(log_.end()) - log_.events_before(next_) + owed_count_ + text_events_;
    return result;
}

void Client::leave_behind(std::uint64_t oldest) {
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
        }
    }
}

void Client::write_owed() {
    if (untold_losses_ != 0) {
        text_ += fmt::format("{{\"type\":\"missed\",\"count\":{}}}\n", untold_losses_);
        untold_losses_ = 0;
    }
    if (std::exchange(owes_channels_, false)) text_snapshot_ += standing_.write_channels(next_, text_);
    write_owed_states();
    write_owed_quotes();
}

void Client::write_owed_states() {
    while (text_.size() < kMostText) {
        const auto id = owed_states_.first();
        if (id == feed::kNoInstrument) return;
        owed_states_.erase(id);
        const auto line = standing_.state_line(id);
        const bool newer_line_follows = line != Standing::kNoLine && line >= next_;
        if (newer_line_follows || !wants(id)) continue;
        standing_.write_state(id, text_);
        ++text_snapshot_;
    }
}

void Client::write_owed_quotes() {
    while (text_.size() < kMostText) {
        const auto id = owed_.first();
        if (id == feed::kNoInstrument) return;
        owed_.erase(id);
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

Flow Client::send_text() {
    while (text_sent_ < text_.size()) {
        const iovec part{text_.data() + text_sent_, text_.size() - text_sent_};
        const auto sent = send_some(socket_, &part, 1);
        if (sent < 0) return refused();
        text_sent_ += static_cast<std::size_t>(sent);
        bytes_sent_ += static_cast<std::uint64_t>(sent);
    }
    sums_.delivered += std::exchange(text_events_, 0);
    sums_.snapshot += std::exchange(text_snapshot_, 0);
    text_.clear();
    text_sent_ = 0;
    return Flow::idle;
}

void Client::gather(Gathered& gathered) const {
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

void Client::settle(const Gathered& gathered, std::size_t bytes) {
    for (std::size_t i = 0; i < gathered.count; ++i) {
        const auto& item = gathered.items[i];
        if (bytes == 0) return;  // what was passed over in front of it is looked at again
        sums_.filtered += item.filtered;
        sums_.conflated += item.conflated;
        const auto& line = log_[item.line];
        next_ = item.line + 1;
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
    sums_.filtered += gathered.filtered;
    sums_.conflated += gathered.conflated;
    next_ = gathered.end;
}

Flow Client::send_lines() {
    while (next_ < log_.end()) {
        Gathered gathered;
        gather(gathered);
        std::array<iovec, kMostLines> parts;
        for (std::size_t i = 0; i < gathered.count; ++i) parts[i] = gathered.items[i].bytes;
        ssize_t sent = 0;
        if (gathered.count != 0) {
            sent = send_some(socket_, parts.data(), gathered.count);
            if (sent < 0) return refused();
        }
        bytes_sent_ += static_cast<std::uint64_t>(sent);
        settle(gathered, static_cast<std::size_t>(sent));
        if (!text_.empty()) return Flow::blocked;  // a line went out in part: the socket is full
    }
    return Flow::idle;
}

Flow Client::pump(std::int64_t now_ns) {
    const auto before = bytes_sent_;
    auto flow = Flow::idle;
    for (;;) {
        if (text_.empty() && !ending_) write_owed();
        flow = send_text();
        if (flow != Flow::idle || ending_) break;
        if (owes()) continue;
        flow = send_lines();
        break;
    }
    if (flow == Flow::idle || bytes_sent_ != before) alive_ns_ = now_ns;
    return flow;
}

}  // namespace millpond::gateway::tcp
