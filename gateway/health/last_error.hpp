#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace millpond::gateway::health {

/// The newest thing that somebody complained of, in words.
///
/// Threads: any.
class LastError {
public:
    struct Said {
        std::string text;
        std::int64_t at_utc_ns{0};  ///< 0: nothing was ever said.
    };

    void say(const std::string& text, std::int64_t now_utc_ns) {
        const std::lock_guard lock{mutex_};
        said_ = {text, now_utc_ns};
    }
    [[nodiscard]] Said read() const {
        const std::lock_guard lock{mutex_};
        return said_;
    }

private:
    mutable std::mutex mutex_;
    Said said_;
};

}  // namespace millpond::gateway::health
