#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace millpond::app {

/// Calls a function at one time of a recording, or at each multiple of an interval, between the events before and after
/// it. Times are nanoseconds of any clock.
///
/// Threads: one.
class Sampler {
public:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

    /// at: the only sample, or with `every` the latest time of one; without it, the end. every: 0 for one sample.
    /// sample(time): called once all events up to that time, inclusive, are applied.
    Sampler(std::optional<std::int64_t> at, std::int64_t every, std::function<void(std::int64_t)> sample)
        : at_(at), every_(every), sample_(std::move(sample)), next_(every == 0 ? at.value_or(kNever) : kNever) {}

    /// Call it at the first event of the instrument. Samples of an interval begin then.
    void begin(std::int64_t time) {
        if (has_begun()) return;
        next_ = (time + every_ - 1) / every_ * every_;
        is_over_ = at_ && next_ > *at_;
    }
    [[nodiscard]] bool has_begun() const noexcept { return every_ == 0 || next_ != kNever; }

    /// Time of the next sample, or kNever; events after it must be announced by pass.
    [[nodiscard]] std::int64_t next() const noexcept { return next_; }
    /// Call it before events of this time are applied.
    void pass(std::int64_t time) {
        while (!is_over_ && next_ < time) sample_at_next();
    }
    /// Call it at the end of the events, of which the last one is of time `last`. has_ended: there are none after it.
    /// Returns false if the recording ended before `at`.
    [[nodiscard]] bool finish(std::int64_t last, bool has_ended) {
        if (is_over_) return true;
        const bool is_reached = !at_ || has_ended || last >= *at_;
        if (every_ == 0) {
            sample_(is_reached ? at_.value_or(last) : last);
        } else {
            const auto end = at_ && is_reached ? *at_ : last;
            while (!is_over_ && next_ <= end) sample_at_next();
        }
        is_over_ = true;
        return is_reached;
    }
    /// Whether there are no more samples.
    [[nodiscard]] bool is_over() const noexcept { return is_over_; }

private:
    void sample_at_next() {
        sample_(next_);
        if (every_ != 0) next_ += every_;
        is_over_ = every_ == 0 || (at_ && next_ > *at_);
    }

    std::optional<std::int64_t> at_;
    std::int64_t every_;
    std::function<void(std::int64_t)> sample_;
    std::int64_t next_;
    bool is_over_{false};
};

}  // namespace millpond::app
