#pragma once

#include <algorithm>
#include <cstdint>

#include <millpond/feed/line_arbiter.hpp>

namespace millpond::feed {

/// Handles a datagram of another session than the decoder's. Returns true if its session is now the decoder's and the
/// datagram still has to be placed.
template <class Decoder>
template <class Target>
bool LineArbiter<Decoder>::enter(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                 const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    if (target.next() == 0) return enter_first(which, numbers, bytes, arrival, target);
    line.sessions.set_heard(heard_utc_ns_);
    // The other line is a session ahead: datagrams of the previous session are old.
    if (left_ && numbers.session == *left_ && line.epoch < epoch_ && !line.sessions.is_silent(arrival.receive_utc_ns)) {
        line.counters.duplicates.add();
        ++behind_;
        return false;
    }
    return confirm(which, numbers, bytes, arrival, target);
}

/// Handles a datagram while the decoder has no session. Returns true if it still has to be placed.
template <class Decoder>
template <class Target>
bool LineArbiter<Decoder>::enter_first(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                       const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    if (!target.accepts(numbers.session) || !Format::is_whole(bytes)) {
        line.counters.others.add();
        target.decode(bytes, arrival);
        return false;
    }
    if (waiting_ != 0 && !(slots_[order_[front_]].numbers.session == numbers.session)) {
        if (numbers.count == 0) {
            drop_stray(line.counters);
            return false;
        }
        if (data_waits()) {
            give_up(target);
            return enter(which, numbers, bytes, arrival, target);
        }
        drop_waiting();
    }
    if constexpr (requires { Format::kAnnouncementBytes; }) {
        if (from_first_) begin_session(numbers, arrival, target);
    }
    return true;
}

template <class Decoder>
std::uint64_t LineArbiter<Decoder>::used() const noexcept {
    std::uint64_t used = 0;
    for (const auto& line : lines_) used += line.counters.used.read();
    return used;
}

template <class Decoder>
bool LineArbiter<Decoder>::data_waits() noexcept {
    for (std::size_t i = 0; i < waiting_; ++i) {
        if (slots_[waiting(i)].numbers.count != 0) return true;
    }
    return false;
}

/// Drops held heartbeats of sessions other than the first one that has data.
template <class Decoder>
void LineArbiter<Decoder>::drop_waiting() noexcept {
    for (; waiting_ != 0; --waiting_) {
        const auto slot = waiting(waiting_ - 1);
        drop_stray(lines_[slots_[slot].line].counters);
        free_.push_back(slot);
    }
    ++epoch_;
    ended_ = false;
}

template <class Decoder>
template <class Target>
bool LineArbiter<Decoder>::confirm(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                   const Arrival& arrival, Target& target) {
    using Verdict = ConfirmedSession<Session>::Verdict;
    auto& line = lines_[which];
    if (!target.accepts(numbers.session) || !Format::is_whole(bytes)) {
        line.counters.others.add();
        target.decode(bytes, arrival);
        return false;
    }
    // If another line has changed the session meanwhile, datagrams held on this line before do not follow.
    const bool other_changed = !line.sessions.is_in(target.session());
    if (line.sessions.holding() && (other_changed || line.sessions.gives_way_to(numbers))) drop_held(line);
    if (other_changed) line.sessions.enter(target.session());
    if (ended_) line.sessions.end();
    const bool is_alive = !ended_ && used() != used_before_ && !line.sessions.is_silent(arrival.receive_utc_ns);
    const bool may_change = line.epoch == epoch_ || !is_alive;
    switch (line.sessions.observe({.numbers = numbers, .bytes = bytes, .arrival = arrival}, may_change)) {
        case Verdict::held: return false;
        case Verdict::foreign:
            line.counters.others.add();
            ++behind_;
            return false;
        case Verdict::copy:
            (numbers.count == 0 ? line.counters.others : line.counters.duplicates).add();
            ++behind_;
            return false;
        case Verdict::ignored: drop_stray(line.counters); return false;
        case Verdict::joined:
        case Verdict::changed: break;
    }
    begin_session(numbers, arrival, target);
    return true;
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::begin_session(const Numbers& numbers, const Arrival& arrival, Target& target) {
    // The held datagrams belong to the old session.
    while (waiting_ != 0) give_up(target);
    if (target.next() != 0) left_ = target.session();
    auto first = numbers.first;
    for (const auto& line : lines_) {
        if (line.sessions.holds(numbers.session)) first = std::min(first, line.sessions.held().numbers.first);
    }
    target.begin_session(numbers.session, first, arrival);
    ++epoch_;
    used_before_ = used();
    ended_ = false;
    old_run_ = 0;
    for (std::size_t which = 0; which < kLines; ++which) {
        auto& line = lines_[which];
        if (!line.sessions.holds(numbers.session)) continue;
        line.epoch = epoch_;
        const auto held = line.sessions.held();
        static_cast<void>(observe(line, held.numbers));
        place(which, held.numbers, held.bytes, held.arrival, target);
        line.sessions.release();
    }
}

}  // namespace millpond::feed
