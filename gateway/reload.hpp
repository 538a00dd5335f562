#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millpond::gateway {

/// What became of a new configuration.
struct Reloaded {
    std::vector<std::string> done;     ///< "sink 'tcp' runs"
    std::vector<std::string> refused;  ///< What was left as it was, and why.
};

/// Where a wish for a reload waits for the thread that can fulfil it.
///
/// Threads: ask on any; is_wished and answer on the one that watches the gateway.
class ReloadDesk {
public:
    /// Asks, and waits for the answer at most so long; nothing when none came, or the desk is closed.
    [[nodiscard]] std::optional<Reloaded> ask(std::chrono::seconds patience) {
        std::unique_lock lock{mutex_};
        if (closed_) return std::nullopt;
        wished_ = true;
        answer_.reset();
        answered_.wait_for(lock, patience, [this] { return answer_.has_value() || closed_; });
        return std::exchange(answer_, std::nullopt);
    }

    /// No request is answered any more; one that waits returns.
    void close() {
        {
            const std::lock_guard lock{mutex_};
            closed_ = true;
        }
        answered_.notify_all();
    }
    [[nodiscard]] bool is_closed() {
        const std::lock_guard lock{mutex_};
        return closed_;
    }
    [[nodiscard]] bool is_wished() {
        const std::lock_guard lock{mutex_};
        return wished_;
    }
    void answer(Reloaded what) {
        {
            const std::lock_guard lock{mutex_};
            wished_ = false;
            answer_ = std::move(what);
        }
        answered_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable answered_;
    bool wished_{false};
    bool closed_{false};
    std::optional<Reloaded> answer_;
};

}  // namespace millpond::gateway
