#include "apps/millpond/traffic/line_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "apps/millpond/command_line/utc_text.hpp"

namespace millpond::traffic {
namespace {

std::uint64_t hash_of(const LineReport::Numbers& numbers, std::span<const std::byte> payload) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
    const std::hash<std::string_view> hash;
    std::uint64_t mixed = hash(numbers.session.view());
    for (const std::uint64_t part :
         {numbers.first, numbers.count,
          std::uint64_t{hash({reinterpret_cast<const char*>(payload.data()), payload.size()})}})
        mixed = (mixed ^ part) * kOdd ^ mixed >> 29U;
    return mixed;
}

std::string duration_text(std::uint64_t nanos) {
    const auto value = static_cast<double>(nanos);
    if (nanos < 1'000) return fmt::format("{} ns", nanos);
    if (nanos < 1'000'000) return fmt::format("{:.2f} us", value / 1e3);
    if (nanos < 1'000'000'000) return fmt::format("{:.2f} ms", value / 1e6);
    return fmt::format("{:.2f} s", value / 1e9);
}

std::string range_text(std::uint64_t first, std::uint64_t last) {
    return first == last ? fmt::format("{}", first)
                         : fmt::format("{} to {} ({} messages)", first, last, last - first + 1);
}

}  // namespace

void LineReport::Peak::add(std::int64_t utc_ns) noexcept {
    const auto now = utc_ns / length_ns;
    if (now != interval) {
        interval = now;
        count = 0;
    }
    most = std::max(most, ++count);
}

void LineReport::add(const files::CapturedDatagram& datagram) {
    const auto at = line_of(datagram);
    if (!at) {
        ++elsewhere_;
        return;
    }
    auto& line = lines_[*at];
    if (line.datagrams != 0 && datagram.utc_ns < line.last_ns) ++line.backwards;
    line.first_ns = line.datagrams == 0 ? datagram.utc_ns : std::min(line.first_ns, datagram.utc_ns);
    line.last_ns = std::max(line.last_ns, datagram.utc_ns);
    ++line.datagrams;
    line.bytes += datagram.payload.size();
    line.second.add(datagram.utc_ns);
    line.millisecond.add(datagram.utc_ns);
    const auto numbers = read_(datagram.payload);
    if (!numbers) {
        ++line.unnumbered;
        return;
    }
    auto* const session = session_of(line, numbers->session);
    if (session == nullptr) {
        ++line.other_sessions;
        return;
    }
    if (count(*session, *numbers, datagram.utc_ns)) compare(*at, *numbers, datagram);
}

std::optional<std::size_t> LineReport::line_of(const files::CapturedDatagram& datagram) {
    const auto found = std::ranges::find_if(lines_, [&](const Line& line) {
        return line.address == datagram.destination && line.interface == datagram.interface;
    });
    if (found != lines_.end()) return static_cast<std::size_t>(found - lines_.begin());
    if (lines_.size() == kMaxLines) return std::nullopt;
    auto& line = lines_.emplace_back();
    line.address = datagram.destination;
    line.interface = datagram.interface;
    line.feed = lines_.size() - 1;
    return line.feed;
}

LineReport::Session* LineReport::session_of(Line& line, const feed::SessionName& name) {
    const auto found = std::ranges::find(line.sessions, name, &Session::name);
    if (found != line.sessions.end()) return &*found;
    if (line.sessions.size() == kMaxSessions) return nullptr;
    auto& session = line.sessions.emplace_back();
    session.name = name;
    return &session;
}

bool LineReport::count(Session& session, const Numbers& numbers, std::int64_t utc_ns) {
    const auto end = numbers.first + numbers.count;
    if (session.next == 0) session.first = session.next = numbers.first;
    // A capture may begin with reordered datagrams.
    if (numbers.count != 0 && numbers.first < session.first && end <= session.first) {
        if (end < session.first) session.gaps[end] = {session.first - 1, utc_ns};
        session.first = numbers.first;
        session.messages += numbers.count;
        ++session.datagrams;
        ++session.reordered;
        return true;
    }
    if (numbers.first > session.next) {
        if (session.gaps.size() < kMaxGaps) {
            session.gaps[session.next] = {numbers.first - 1, utc_ns};
        } else {
            ++session.forgotten;
        }
        session.next = numbers.first;
    }
    if (numbers.count == 0) return false;
    ++session.datagrams;
    const auto late = fill(session, numbers.first, std::min(end, session.next));
    const auto fresh = end > session.next ? end - std::max(session.next, numbers.first) : 0;
    session.next = std::max(session.next, end);
    session.messages += late + fresh;
    if (late != 0) {
        ++session.reordered;
    } else if (fresh == 0) {
        ++session.duplicates;
    }
    return late + fresh != 0;
}

/// Removes the messages first..end-1 from the gaps. Returns how many were missing.
std::uint64_t LineReport::fill(Session& session, std::uint64_t first, std::uint64_t end) {
    if (first >= end) return 0;
    std::uint64_t filled = 0;
    auto gap = session.gaps.upper_bound(first);
    if (gap != session.gaps.begin()) --gap;
    while (gap != session.gaps.end() && gap->first < end) {
        const auto [from, rest] = *gap;
        const auto begin = std::max(from, first);
        const auto last = std::min(rest.last, end - 1);
        if (begin > last) {
            ++gap;
            continue;
        }
        filled += last - begin + 1;
        gap = session.gaps.erase(gap);
        if (from < begin) session.gaps[from] = {begin - 1, rest.utc_ns};
        if (last < rest.last) session.gaps[last + 1] = rest;
    }
    return filled;
}

void LineReport::compare(std::size_t at, const Numbers& numbers, const files::CapturedDatagram& datagram) {
    const auto key = hash_of(numbers, datagram.payload);
    const auto [found, added] = recent_.try_emplace(key, Arrival{at, datagram.utc_ns});
    if (added) {
        order_.push_back(key);
        if (order_.size() > kRemembered) {
            recent_.erase(order_.front());
            order_.pop_front();
        }
        return;
    }
    const auto other = found->second;
    if (other.line == at) return;
    join(other.line, at);
    const auto left = std::min(other.line, at);
    auto& pair = pairs_[{left, std::max(other.line, at)}];
    if (!pair) pair = std::make_unique<Pair>();
    const auto behind = datagram.utc_ns - other.utc_ns;
    if (behind == 0) {
        ++pair->equal;
        return;
    }
    const auto first = behind > 0 ? other.line : at;
    auto& lead = first == left ? pair->left : pair->right;
    ++lead.count;
    lead.nanos.record(behind > 0 ? behind : -behind);
}

void LineReport::join(std::size_t left, std::size_t right) {
    const auto kept = lines_[left].feed;
    const auto dropped = lines_[right].feed;
    if (kept == dropped) return;
    for (auto& line : lines_) {
        if (line.feed == dropped) line.feed = kept;
    }
}

std::string LineReport::text(std::size_t gaps) const {
    std::string out;
    for (const auto& line : lines_) append_line(out, line);
    if (elsewhere_ != 0) out += fmt::format("datagrams of more than {} lines: {}\n", kMaxLines, elsewhere_);
    for (const auto& [lines, pair] : pairs_) {
        const auto names = std::pair{name_of(lines_[lines.first]), name_of(lines_[lines.second])};
        const auto all = pair->left.count + pair->right.count + pair->equal;
        out += fmt::format("{} and {}: {} equal datagrams\n", names.first, names.second, all);
        for (const auto& [name, lead] : {std::pair{names.first, &pair->left}, std::pair{names.second, &pair->right}}) {
            const auto snapshot = std::make_unique<metrics::HistogramSnapshot>();
            lead->nanos.read(*snapshot);
            out += fmt::format("  {} was first in {:.1f} %", name,
                               100.0 * static_cast<double>(lead->count) / static_cast<double>(all));
            if (lead->count != 0)
                out += fmt::format(", by p50 {}, p99 {}", duration_text(snapshot->percentile(50)),
                                   duration_text(snapshot->percentile(99)));
            out += '\n';
        }
        if (pair->equal != 0) out += fmt::format("  both at the same time: {}\n", pair->equal);
    }
    for (std::size_t at = 0; at < lines_.size(); ++at) append_gaps(out, at, gaps);
    return out;
}

std::string LineReport::name_of(const Line& line) const {
    const bool several = std::ranges::any_of(lines_, [](const Line& each) { return each.interface != 0; });
    return several ? fmt::format("{} on interface {}", line.address.to_string(), line.interface)
                   : line.address.to_string();
}

void LineReport::append_line(std::string& out, const Line& line) const {
    const auto seconds = static_cast<double>(line.last_ns - line.first_ns) * 1e-9;
    out += fmt::format("{}\n  {} datagrams, {} bytes in {:.3f} s", name_of(line), line.datagrams, line.bytes, seconds);
    if (seconds > 0)
        out += fmt::format(": {:.1f}/s, {:.3f} Mbit/s", static_cast<double>(line.datagrams) / seconds,
                           static_cast<double>(line.bytes) * 8e-6 / seconds);
    out += fmt::format("; at most {} in a second, {} in a millisecond\n", line.second.most, line.millisecond.most);
    if (line.backwards != 0) out += fmt::format("  times that go backwards: {}\n", line.backwards);
    for (const auto& session : line.sessions) {
        std::uint64_t missing = 0;
        for (const auto& [first, gap] : session.gaps) missing += gap.last - first + 1;
        out += fmt::format("  session {}: messages {} to {}, {} received in {} datagrams; gaps {}", session.name.view(),
                           session.first, session.next - 1, session.messages, session.datagrams,
                           session.gaps.size() + session.forgotten);
        if (missing != 0) out += fmt::format(" ({} messages)", missing);
        out += fmt::format(", duplicates {}, reordered {}\n", session.duplicates, session.reordered);
        if (session.forgotten != 0)
            out += fmt::format("  more than {} gaps: {} are counted without their messages\n", kMaxGaps,
                               session.forgotten);
    }
    if (line.other_sessions != 0)
        out += fmt::format("  datagrams of more than {} sessions: {}\n", kMaxSessions, line.other_sessions);
    if (line.unnumbered != 0) out += fmt::format("  datagrams without numbers: {}\n", line.unnumbered);
}

void LineReport::append_gaps(std::string& out, std::size_t at, std::size_t shown) const {
    const auto& line = lines_[at];
    for (const auto& session : line.sessions) {
        std::size_t count = 0;
        for (const auto& [first, gap] : session.gaps) {
            if (count++ == shown) {
                out += fmt::format("{}, session {}: {} more gaps\n", name_of(line), session.name.view(),
                                   session.gaps.size() - shown);
                break;
            }
            out += fmt::format("{}, session {}: gap {} before {}, {}\n", name_of(line), session.name.view(),
                               range_text(first, gap.last), app::utc_text_in_nanos(gap.utc_ns),
                               filled_by(at, session, first, gap.last));
        }
    }
}

std::string LineReport::filled_by(std::size_t at, const Session& session, std::uint64_t first,
                                  std::uint64_t last) const {
    std::string whole;
    std::string parts;
    for (std::size_t other = 0; other < lines_.size(); ++other) {
        if (other == at || lines_[other].feed != lines_[at].feed) continue;
        const auto& sessions = lines_[other].sessions;
        const auto found = std::ranges::find(sessions, session.name, &Session::name);
        if (found == sessions.end()) continue;
        const auto begin = std::max(first, found->first);
        const auto end = std::min(last + 1, found->next);
        if (begin >= end) continue;
        std::uint64_t has = end - begin;
        auto gap = found->gaps.upper_bound(begin);
        if (gap != found->gaps.begin()) --gap;
        for (; gap != found->gaps.end() && gap->first < end; ++gap) {
            const auto from = std::max(gap->first, begin);
            const auto to = std::min(gap->second.last + 1, end);
            if (from < to) has -= to - from;
        }
        if (has == 0) continue;
        auto& list = has == last - first + 1 ? whole : parts;
        list += (list.empty() ? "" : ", ") + name_of(lines_[other]);
        if (&list == &parts) list += fmt::format(" ({} messages)", has);
    }
    if (!whole.empty()) return "filled by " + whole;
    return parts.empty() ? "filled by no line" : "filled in part by " + parts;
}

}  // namespace millpond::traffic
