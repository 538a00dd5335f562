#pragma once

#include <mutex>
#include <string>

#include <millpond/core/moment.hpp>

namespace millpond::service {

/// The last error of a component, as text.
///
/// Threads: any.
class LastError {
public:
    struct Report {
        std::string text;
        core::Moment at;  ///< Zero: no error yet.
    };

    void set(const std::string& text, core::Moment now) {
        const std::lock_guard lock{mutex_};
        last_ = {text, now};
    }
    [[nodiscard]] Report read() const {
        const std::lock_guard lock{mutex_};
        return last_;
    }

private:
    mutable std::mutex mutex_;
    Report last_;
};

}  // namespace millpond::service
