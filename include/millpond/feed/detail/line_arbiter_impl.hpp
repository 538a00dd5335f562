#pragma once

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
        // Answers are of the session that was asked about, or of none that matters any more.
        if (which == kAnswers) return line.counters.others.add();
        if (!enter(which, *numbers, bytes, arrival, target)) return;
    } else if (line.sessions.holding()) [[unlikely]] {
        drop_stray(line);
    }
    line.epoch = epoch_;
    heard_utc_ns_ = arrival.receive_utc_ns;
    place(which, *numbers, observe(line, *numbers), bytes, arrival, target);
}

/// True when the line is seen to begin again at a lower number.
template <class Decoder>
bool LineArbiter<Decoder>::observe(Line& line, const Numbers& numbers) noexcept {
    if (&line == &lines_[kAnswers]) return false;
    if (!(line.session == numbers.session)) {
        line.session = numbers.session;
        line.tracker.start(numbers.first);
    }
    return line.tracker.observe(numbers.first, numbers.count).restarted;
}

/// A datagram of another session than the decoder's. True when it is the decoder's session now and the datagram is
/// still to be placed.
template <class Decoder>
template <class Target>
bool LineArbiter<Decoder>::enter(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                 const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    const bool joins = target.next() == 0;
    // The other line is ahead by a session: what this one still brings of the one before is old.
    if (!joins && left_ && numbers.session == *left_ && line.epoch < epoch_) {
        line.counters.duplicates.add();
        return false;
    }
    if constexpr (requires { target.begin_session(numbers.session, arrival); }) {
        if (!joins || from_first_) return confirm(which, numbers, bytes, arrival, target);
    }
    // What still waits belongs to the old session.
    while (waiting_ != 0) give_up(target);
    const auto before = target.session();
    target.decode(bytes, arrival);
    const bool entered = target.next() != 0 && numbers.session == target.session();
    (entered && numbers.count != 0 ? line.counters.used : line.counters.others).add();
    if (!entered) return false;
    if (!joins) left_ = before;
    ++epoch_;
    old_run_ = 0;
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
    if (!Format::is_whole(bytes)) {
        line.counters.others.add();
        target.decode(bytes, arrival);
        return false;
    }
    if (target.next() == 0) {
        begin_session(numbers.session, arrival, target);
        return true;
    }
    if (line.sessions.is_new(target.session())) {
        // Another line has changed the session meanwhile: what this one held before that is not its successor.
        if (line.sessions.holding() && !(line.sessions.held().session == target.session())) drop_stray(line);
        line.sessions.enter(target.session());
    }
    if (line.sessions.holding() && !(line.sessions.held().session == numbers.session)) drop_stray(line);
    const auto verdict = line.sessions.observe({.session = numbers.session,
                                                .first = numbers.first,
                                                .count = numbers.count,
                                                .bytes = bytes.size() <= most_bytes_ ? bytes : bytes.first(0),
                                                .arrival = arrival},
                                               heard_utc_ns_);
    switch (verdict) {
        case Verdict::held: return false;
        case Verdict::copy: line.counters.duplicates.add(); return false;
        case Verdict::past: line.counters.others.add(); return false;
        default: break;
    }
    begin_session(numbers.session, arrival, target);
    return true;
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::begin_session(const Session& session, const Arrival& arrival, Target& target) {
    // What still waits belongs to the old session.
    while (waiting_ != 0) give_up(target);
    if (target.next() != 0) left_ = target.session();
    target.begin_session(session, arrival);
    ++epoch_;
    old_run_ = 0;
    for (std::size_t which = 0; which < kLines; ++which) {
        auto& line = lines_[which];
        if (!line.sessions.holding() || !(line.sessions.held().session == session)) continue;
        line.sessions.enter(session);
        line.epoch = epoch_;
        const auto held = line.sessions.held();
        const Numbers numbers{.session = held.session, .first = held.first, .count = held.count};
        static_cast<void>(observe(line, numbers));
        if (held.bytes.empty()) {
            line.counters.others.add();
        } else {
            place(which, numbers, false, held.bytes, held.arrival, target);
        }
        line.sessions.release();
    }
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::place(std::size_t which, const Numbers& numbers, bool restarted,
                                 std::span<const std::byte> bytes, const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    const auto next = target.next();
    if (numbers.first > next) return hold(which, numbers, bytes, arrival, target);
    if (numbers.count == 0) {
        line.counters.others.add();
        return target.decode(bytes, arrival);
    }
    if (numbers.end() <= next) return pass_by(line, numbers, restarted, bytes, arrival, target);
    old_run_ = 0;
    line.counters.used.add();
    target.decode(bytes, arrival);
    if (waiting_ == 0) return;
    line.counters.filled.add();
    let_go(target);
}

/// Everything in it has come before, unless the sender begins again.
template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::pass_by(Line& line, const Numbers& numbers, bool restarted, std::span<const std::byte> bytes,
                                   const Arrival& arrival, Target& target) {
    ++old_run_;
    // One line that goes back while the other brings new numbers is not believed.
    if (restarted && old_run_ > SequenceTracker::kRestartAfter) {
        while (waiting_ != 0) give_up(target);
        old_run_ = 0;
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
    // Most come in order: the place is looked for from the end.
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
        return this->place(which, numbers, false, bytes, arrival, target);
    }
    const auto slot = free_.back();
    free_.pop_back();
    for (auto i = waiting_; i > place; --i) waiting(i) = waiting(i - 1);
    waiting(place) = slot;
    if (waiting_++ == 0) since_ = arrival.receive_ticks;
    slots_[slot] = {numbers, arrival, bytes.size(), which};
    std::memcpy(bytes_of(slot), bytes.data(), bytes.size());
}

/// Hands the first that waits to the decoder.
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

/// Hands over what waits for nothing any more.
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
