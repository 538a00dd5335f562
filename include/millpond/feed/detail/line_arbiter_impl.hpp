#pragma once

#include <algorithm>
#include <utility>

#include <millpond/feed/line_arbiter.hpp>

namespace millpond::feed {

template <class Decoder>
LineArbiter<Decoder>::LineArbiter(const Options& options, std::pmr::memory_resource* memory)
    : max_bytes_(options.max_bytes),
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
    bytes_.resize(options.held * options.max_bytes);
    slots_.resize(options.held);
    order_.resize(options.held);
    free_.reserve(options.held);
    for (std::size_t i = 0; i < options.held; ++i) free_.push_back(static_cast<std::uint16_t>(i));
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::receive(std::size_t which, std::span<const std::byte> bytes, const Arrival& arrival,
                                   Target& target) {
    auto& line = lines_[which];
    line.counters.datagrams.add();
    const auto numbers = Format::read(bytes);
    if (!numbers) {
        line.counters.others.add();
        return target.decode(bytes, arrival);
    }
    if (target.next() == 0 || !(numbers->session == target.session())) {
        // An answer is of the requested session, or of one that is over.
        if (which == kAnswers) return line.counters.others.add();
        note_apart(line, *numbers, target);
        if (!enter(which, *numbers, bytes, arrival, target)) return;
    } else if (line.sessions.holding()) [[unlikely]] {
        drop_held(line);
    }
    line.apart = 0;
    line.data_apart = false;
    line.epoch = epoch_;
    heard_utc_ns_ = arrival.receive_utc_ns;
    if (observe(line, *numbers)) {
        const bool follows = std::exchange(line.restarts, restarts_) != restarts_;
        line.went_back = line.went_back || (!follows && numbers->end() <= target.next());
    }
    if (numbers->count == 0) [[unlikely]] {
        ended_ = ended_ || numbers->ends;
        // A heartbeat that contradicts its own line holds nothing back, and is not a reason for a re-request.
        const auto known = line.tracker.next();
        if (known != 0 && known < numbers->first) return line.counters.others.add();
    }
    place(which, *numbers, bytes, arrival, target);
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::note_apart(Line& line, const Numbers& numbers, const Target& target) noexcept {
    if (!target.accepts(numbers.session)) return;
    const bool same = line.session_apart == numbers.session;
    line.apart = same ? line.apart + 1 : 1;
    line.data_apart = (same && line.data_apart) || numbers.count != 0;
    line.session_apart = numbers.session;
}

/// Returns true if the line restarts at a lower number.
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

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::place(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                 const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    const auto next = target.next();
    if (numbers.first > next && !line.went_back) {
        hold(which, numbers, bytes, arrival, target);
        if (numbers.first == 1 && joining(target)) give_up(target);  // no message precedes number 1
        return;
    }
    if (numbers.count == 0) {
        line.counters.others.add();
        if (line.went_back) return;
        return target.decode(bytes, arrival);
    }
    if (numbers.end() <= next || line.went_back) return pass_by(line, numbers, bytes, arrival, target);
    old_run_ = 0;
    line.restarts = restarts_;
    use(line.counters, next, bytes, arrival, target);
    if (waiting_ == 0 || target.next() == next) return;
    line.counters.filled.add();
    let_go(target);
}

/// Handles a datagram whose messages were all received before, or with which the sender restarts.
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
        target.restart_at(numbers.first, arrival);
        return use(line.counters, numbers.first, bytes, arrival, target);
    }
    const bool late = target.is_missing(numbers.first, numbers.end() - 1);
    (late ? line.counters.late : line.counters.duplicates).add();
}

template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::hold(std::size_t which, const Numbers& numbers, std::span<const std::byte> bytes,
                                const Arrival& arrival, Target& target) {
    auto& line = lines_[which];
    // Most datagrams arrive in order, so search for the position from the end.
    std::size_t place = waiting_;
    while (place != 0 && slots_[waiting(place - 1)].numbers.first > numbers.first) --place;
    if (place != 0) {
        const auto index = waiting(place - 1);
        const auto& before = slots_[index];
        if (numbers.count == 0) {
            if (numbers.first == before.numbers.first) return line.counters.others.add();
        } else if (numbers.end() <= before.numbers.end() && Format::is_whole({bytes_of(index), before.size})) {
            // A damaged datagram lacks messages that its header counts, so others may have to bring them.
            return line.counters.duplicates.add();
        }
    }
    if (bytes.size() > max_bytes_ || free_.empty()) {
        if (place == 0) {  // no gap but the one before it has to be given up
            if (target.next() != 0) given_up_.add();
            old_run_ = 0;
            use(line.counters, numbers.first, bytes, arrival, target);
            return let_go(target);
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

/// Passes a datagram to the decoder, and counts the messages that it brings from number `first` on. A damaged datagram
/// brings its whole messages only.
template <class Decoder>
template <class Target>
void LineArbiter<Decoder>::use(LineCounters& counters, std::uint64_t first, std::span<const std::byte> bytes,
                               const Arrival& arrival, Target& target) {
    target.decode(bytes, arrival);
    const auto next = target.next();
    if (next <= first) [[unlikely]]
        return counters.others.add();
    counters.used.add();
    counters.messages_used.add(next - first);
}

/// Passes the first held datagram to the decoder.
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
    use(counters, std::max(slot.numbers.first, target.next()), {bytes_of(index), slot.size}, slot.arrival, target);
}

/// Passes on the held datagrams that no longer have to wait.
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
    if (target.next() != 0) given_up_.add();
    old_run_ = 0;
    release_front(target);
    let_go(target);
}

}  // namespace millpond::feed
