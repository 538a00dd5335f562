#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/sinks/sink.hpp"

namespace millpond::gateway {

/// Collects log messages of any thread.
class CapturedLog {
public:
    [[nodiscard]] service::LogFunction function() {
        return [this](service::Severity, std::string_view, const std::string& text) {
            const std::lock_guard lock{mutex_};
            texts_.push_back(text);
        };
    }
    [[nodiscard]] std::vector<std::string> texts() const {
        const std::lock_guard lock{mutex_};
        return texts_;
    }
    [[nodiscard]] bool has(std::string_view part) const {
        for (const auto& text : texts()) {
            if (text.find(part) != std::string::npos) return true;
        }
        return false;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> texts_;
};

}  // namespace millpond::gateway
