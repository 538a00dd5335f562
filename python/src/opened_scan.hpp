#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "collector.hpp"
#include "source.hpp"

namespace millpond::python {

/// A source that is being read, and the rows of the batch that is being made.
///
/// Threads: one at a time; offset() on any.
class OpenedScan {
public:
    OpenedScan(std::unique_ptr<Source> source, const Collector::Options& options)
        : source_(std::move(source)), collector_(options) {}

    /// Rows until there are about `max_rows`, or the end of the file: then ended() is true. Calls pause() now and then,
    /// which may throw.
    template <class Pause>
    Rows read(std::size_t max_rows, Pause&& pause) {
        constexpr std::size_t kMostAtOnce = 8'192;
        while (!ended_ && collector_.rows().size() < max_rows)
            read_some(std::min(max_rows - collector_.rows().size(), kMostAtOnce), pause);
        return collector_.take();
    }
    /// Reads up to `max` messages, datagrams or records, and pauses likewise. Returns the rows there are, with those
    /// that the caller has left there.
    template <class Pause>
    Rows& read_some(std::size_t max, Pause&& pause) {
        constexpr std::size_t kPauseEvery = 65'536;
        const bool unpacks = source_->unpacks();
        ended_ = !source_->read(collector_, std::max<std::size_t>(max, 1));
        offset_.store(source_->offset(), std::memory_order_relaxed);
        since_pause_ += unpacks ? kPauseEvery / 8 : max;
        if (since_pause_ >= kPauseEvery) {
            since_pause_ = 0;
            pause();
        }
        return collector_.rows();
    }

    [[nodiscard]] bool ended() const noexcept { return ended_; }
    /// As Source::offset; on any thread, also while another one reads.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_.load(std::memory_order_relaxed); }
    [[nodiscard]] const Source& source() const noexcept { return *source_; }
    [[nodiscard]] const Collector& collector() const noexcept { return collector_; }
    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return in_use_; }

private:
    std::unique_ptr<Source> source_;
    Collector collector_;
    bool ended_{false};
    std::size_t since_pause_{0};
    std::atomic<std::uint64_t> offset_{0};
    std::atomic<bool> in_use_{false};
};

}  // namespace millpond::python
