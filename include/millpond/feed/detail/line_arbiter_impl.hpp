#pragma once

#include <algorithm>
#include <utility>

#include <millpond/feed/line_arbiter.hpp>

namespace millpond::feed {

template <class Decoder>
LineArbiter<Decoder>::LineArbiter(const Options& options, std::pmr::memory_resource* memory)
    : most_bytes_(options.most_bytes),
      from_first_(options.from_first),
      lines_{Line{memory}, Line{memory}, Line{memory}},
      bytes_(memory),
      slots_(memory),
      order_(memory),
      free_(memory) {
    if (options.held < 1 || options.held > 0xFFFF) {
        throw std::invalid_argument("line arbiter: " + std::to_string(options.held) +
                                    " datagrams held; it must be 1 to 65535");
    }
    bytes_.resize(options.held * options.most_bytes);
    slots_.resize(options.held);
    order_.resize(options.held);
    free_.reserve(options.held);
    for (std::size_t i = 0; i < options.held; ++i) free_.push_back(static_cast<std::uint16_t>(i));
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::take(std::size_t which, std::span<const std::byte> bytes, const Arrival& arrival,
                                Target& target) {
    auto& line = lines_[which];
    line.counters.datagrams.add();
    const auto numbers = Format::read(bytes);
    if (!numbers) {
        line.counters.others.add();
        return target.decode(bytes, arrival);
    }
    if (target.next() == 0 || !(numbers->session == target.session())) {
        // Answers are of the session that was asked about, or of one that no longer matters.
        if (which == kAnswers) return line.counters.others.add();
        note_apart(line, *numbers, target);
        if (!enter(which, *numbers, bytes, arrival, target)) return;
    } else if (line.sessions.holding()) [[unlikely]] {
        drop_stray(line);
    }
    line.apart = 0;
    line.epoch = epoch_;
    heard_utc_ns_ = arrival.receive_utc_ns;
    if (observe(line, *numbers)) {
        const bool follows = std::exchange(line.restarts, restarts_) != restarts_;
        line.went_back = line.went_back || (!follows && numbers->end() <= target.next());
    }
    // A heartbeat that its own line contradicts delays nothing, and no server is asked for what it announces.
    const auto known = line.tracker.next();
    if (numbers->count == 0 && known != 0 && known < numbers->first) [[unlikely]]
        return line.counters.others.add();
    place(which, *numbers, bytes, arrival, target);
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::note_apart(Line& line, const Numbers& numbers, const Target& target) noexcept {
    if constexpr (requires { Format::same_channel(numbers.session, numbers.session); }) {
        if (!Format::same_channel(numbers.session, target.session())) return;
    }
    line.apart = line.session_apart == numbers.session ? line.apart + 1 : 1;
    line.session_apart = numbers.session;
}

/// True if the line restarts at a lower number.
template <class Decoder>
bool LineArbiter<Decoder>::observe(Line& line, const Numbers& numbers) noexcept {
    if (&line == &lines_[kAnswers]) return false;
    if (!(line.session == numbers.session)) {
        line.session = numbers.session;
        line.tracker.start(numbers.first);
        line.restarts = restarts_;
        line.went_back = false;
    }
    return line.tracker.observe(numbers.first, numbers.count).restarted;
}

/// A datagram of another session than the decoder's. True if its session is now the decoder's and the datagram
/// still has to be placed.
template <class Decoder>
template <class Target>
bool LineArbiter<Decoder>::enter(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                 const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    if (target.next() != 0) {
        // The other line is a session ahead: datagrams of the previous session are old.
        line.sessions.set_heard(heard_utc_ns_);
        const bool lags = left_ && numbers.session == *left_ && line.epoch < epoch_;
        if (lags && !line.sessions.is_silent(arrival.receive_utc_ns)) {
            line.counters.duplicates.add();
            return false;
        }
        return confirm(which, numbers, bytes, arrival, target);
    }
    if constexpr (requires { Format::kAnnouncementBytes; }) {
        if (from_first_ && Format::is_whole(bytes)) {
            begin_session(numbers, arrival, target);
            return true;
        }
    }
    target.decode(bytes, arrival);
    const bool joined = target.next() != 0 && numbers.session == target.session();
    (joined && numbers.count != 0 ? line.counters.used : line.counters.others).add();
    if (!joined) return false;
    ++epoch_;
    static_cast<void>(observe(line, numbers));
    line.epoch = epoch_;
    heard_utc_ns_ = arrival.receive_utc_ns;
    return false;
}

template <class Decoder>
template <class Target>
bool LineArbiter<Decoder>::confirm(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                   const Arrival& arrival, Target& target) {
    using Verdict = ConfirmedSession<Session>::Verdict;
    auto& line = lines_[which];
    bool may_begin = Format::is_whole(bytes);
    if constexpr (requires { Format::same_channel(numbers.session, numbers.session); })
        may_begin = may_begin && Format::same_channel(numbers.session, target.session());
    if (!may_begin) {
        line.counters.others.add();
        target.decode(bytes, arrival);
        return false;
    }
    // If another line has changed the session meanwhile, datagrams held on this line before do not follow.
    const bool other_changed = !line.sessions.is_in(target.session());
    if (line.sessions.holding() && (other_changed || !line.sessions.holds(numbers.session))) drop_stray(line);
    if (other_changed) line.sessions.enter(target.session());
    switch (line.sessions.observe({.numbers = numbers, .bytes = bytes, .arrival = arrival})) {
        case Verdict::held: return false;
        case Verdict::copy: line.counters.duplicates.add(); return false;
        case Verdict::ignored:
            line.counters.others.add();
            strays_.add();
            return false;
        case Verdict::joined:
        case Verdict::changed: break;
    }
    begin_session(numbers, arrival, target);
    return true;
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::begin_session(const Numbers& numbers, const Arrival& arrival, Target& target) {
    // Waiting datagrams belong to the old session.
    while (waiting_ != 0) give_up(target);
    if (target.next() != 0) left_ = target.session();
    auto first = numbers.first;
    for (const auto& line : lines_) {
        if (line.sessions.holds(numbers.session)) first = std::min(first, line.sessions.held().numbers.first);
    }
    target.begin_session(numbers.session, first, arrival);
    ++epoch_;
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

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::place(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                 const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    const auto next = target.next();
    if (numbers.first > next && !line.went_back) return hold(which, numbers, bytes, arrival, target);
    if (numbers.count == 0) {
        line.counters.others.add();
        if (line.went_back) return;
        return target.decode(bytes, arrival);
    }
    if (numbers.end() <= next || line.went_back) return pass_by(line, numbers, bytes, arrival, target);
    old_run_ = 0;
    line.restarts = restarts_;
    line.counters.used.add();
    target.decode(bytes, arrival);
    if (waiting_ == 0) return;
    line.counters.filled.add();
    let_go(target);
}

/// All of it was received before, unless the sender restarts.
template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::pass_by(Line& line, const Numbers& numbers, std::span<const std::byte> bytes,
                                   const Arrival& arrival, Target& target) {
    ++old_run_;
    if (line.went_back && old_run_ > SequenceTracker::kRestartAfter) {
        while (waiting_ != 0) give_up(target);
        old_run_ = 0;
        ++restarts_;
        for (auto& each : lines_) {
            if (std::exchange(each.went_back, false)) each.restarts = restarts_;
        }
        line.counters.used.add();
        target.begin_again(numbers.first, arrival);
        return target.decode(bytes, arrival);
    }
    const bool late = target.is_missing(numbers.first, numbers.end() - 1);
    (late ? line.counters.late : line.counters.duplicates).add();
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::hold(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    // Most arrive in order: the position is searched from the end.
    std::size_t place = waiting_;
    while (place != 0 && slots_[waiting(place - 1)].numbers.first > numbers.first) --place;
    if (place != 0) {
        const auto& before = slots_[waiting(place - 1)].numbers;
        if (numbers.end() <= before.end() && (numbers.count != 0 || before.first == numbers.first))
            return (numbers.count == 0 ? line.counters.others : line.counters.duplicates).add();
    }
    if (bytes.size() > most_bytes_ || free_.empty()) {
        if (waiting_ == 0) {  // too long to wait
            given_up_.add();
            line.counters.used.add();
            return target.decode(bytes, arrival);
        }
        give_up(target);
        return this->place(which, numbers, bytes, arrival, target);
    }
    const auto slot = free_.back();
    free_.pop_back();
    for (auto i = waiting_; i > place; --i) waiting(i) = waiting(i - 1);
    waiting(place) = slot;
    if (waiting_++ == 0) since_ = arrival.receive_ticks;
    slots_[slot] = {numbers, arrival, bytes.size(), which};
    std::memcpy(bytes_of(slot), bytes.data(), bytes.size());
}

/// Passes the first waiting datagram to the decoder.
template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::release_front(Target& target) {
    const auto index = order_[front_];
    front_ = front_ + 1 < order_.size() ? front_ + 1 : 0;
    --waiting_;
    free_.push_back(index);  // never allocates: reserved in the constructor
    const auto& slot = slots_[index];
    auto& counters = lines_[slot.line].counters;
    if (slot.numbers.count != 0 && slot.numbers.end() <= target.next()) return counters.duplicates.add();
    (slot.numbers.count == 0 ? counters.others : counters.used).add();
    target.decode({bytes_of(index), slot.size}, slot.arrival);
}

/// Passes on datagrams that no longer have to wait.
template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::let_go(Target& target) {
    while (waiting_ != 0 && slots_[order_[front_]].numbers.first <= target.next()) release_front(target);
    if (waiting_ != 0) since_ = slots_[order_[front_]].arrival.receive_ticks;
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::give_up(Target& target) {
    assert(waiting_ != 0);
    given_up_.add();
    old_run_ = 0;
    release_front(target);
    let_go(target);
}

}  // namespace millpond::feed
