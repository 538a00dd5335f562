#pragma once

#include <mutex>
#include <string>

#include <millpond/core/moment.hpp>

namespace millpond::gateway::health {

/// The last error of a component, as text.
///
/// Threads: any.
class LastError {
public:
    struct Said {
        std::string text;
        core::Moment at;  ///< Zero: there was none.
    };

    void say(const std::string& text, core::Moment now) {
        const std::lock_guard lock{mutex_};
        said_ = {text, now};
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
