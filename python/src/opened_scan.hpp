#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "collector.hpp"
#include "source.hpp"
#include "state_lock.hpp"

namespace millpond::python {

/// A source that is being read, and the rows of the current batch.
///
/// Threads: one at a time reads. Others may call offset(), and use the state while they hold state_lock().
class OpenedScan {
public:
    OpenedScan(std::unique_ptr<Source> source, const Collector::Options& options)
        : source_(std::move(source)), collector_(options) {}

    /// Returns rows, until there are about `max_rows`, or until the end of the file: then ended() is true. pause:
    /// called now and then; may throw.
    template <class Pause>
    Rows read(std::size_t max_rows, Pause&& pause) {
        constexpr std::size_t kMaxAtOnce = 8'192;
        while (!ended_ && collector_.rows().size() < max_rows)
            read_some(std::min(max_rows - collector_.rows().size(), kMaxAtOnce), pause);
        return collector_.drain();
    }
    /// Reads up to `max` messages, datagrams or records, and calls pause() like above. Returns the rows, including
    /// those that the caller has left.
    template <class Pause>
    Rows& read_some(std::size_t max, Pause&& pause) {
        constexpr std::size_t kPauseEvery = 65'536;
        const bool unpacks = source_->unpacks();
        {
            const std::scoped_lock lock{state_};
            ended_ = !source_->read(collector_, std::max<std::size_t>(max, 1));
            offset_.store(source_->offset(), std::memory_order_relaxed);
        }
        since_pause_ += unpacks ? kPauseEvery / 8 : max;
        if (since_pause_ >= kPauseEvery) {
            since_pause_ = 0;
            pause();
        }
        return collector_.rows();
    }

    [[nodiscard]] bool ended() const noexcept { return ended_; }
    /// See Source::offset; on any thread, also while another one reads.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_.load(std::memory_order_relaxed); }
    [[nodiscard]] const Source& source() const noexcept { return *source_; }
    [[nodiscard]] const Collector& collector() const noexcept { return collector_; }
    [[nodiscard]] StateLock& state_lock() noexcept { return state_; }
    /// Whether a thread is reading.
    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return in_use_; }

private:
    std::unique_ptr<Source> source_;
    Collector collector_;
    bool ended_{false};
    std::size_t since_pause_{0};
    std::atomic<std::uint64_t> offset_{0};
    StateLock state_;
    std::atomic<bool> in_use_{false};
};

}  // namespace millpond::python
