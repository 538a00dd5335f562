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
    /// Asks, and waits for the answer at most so long; nothing when none came.
    [[nodiscard]] std::optional<Reloaded> ask(std::chrono::seconds patience) {
        std::unique_lock lock{mutex_};
        wished_ = true;
        answer_.reset();
        answered_.wait_for(lock, patience, [this] { return answer_.has_value(); });
        return std::exchange(answer_, std::nullopt);
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
    std::optional<Reloaded> answer_;
};

}  // namespace millpond::gateway
