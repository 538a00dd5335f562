#include "fixd/sessions/disabled_sessions.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <millpond/core/created_file.hpp>

#include "service/regular_file.hpp"

namespace millpond::fixd {

DisabledSessions::DisabledSessions(std::string file, std::uint32_t file_mode, service::Log& log)
    : file_(std::move(file)), file_mode_(file_mode), log_(&log) {
    if (file_.empty() || !std::filesystem::exists(file_)) return;
    try {
        std::istringstream lines{service::read_regular_file(file_).text};
        for (std::string line; std::getline(lines, line);) {
            if (!line.empty()) names_.insert(line);
        }
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(fmt::format("list of disabled sessions '{}': {}", file_, error.what()));
    }
}

bool DisabledSessions::has(std::string_view session) const {
    const std::lock_guard guard{lock_};
    return names_.contains(session);
}

void DisabledSessions::set(std::string_view session, bool disabled) {
    const std::lock_guard one_at_a_time{file_lock_};
    {
        const std::lock_guard guard{lock_};
        const auto known = names_.find(session);
        if ((known != names_.end()) == disabled) return;
        if (disabled) {
            names_.emplace(session);
        } else {
            names_.erase(known);
        }
    }
    if (file_.empty()) return;
    try {
        write();
    } catch (const std::exception& error) {
        log_->say(service::Severity::error, "disabled sessions",
                  fmt::format("{}: a restart may forget that sessions are disabled: {}", file_, error.what()));
    }
}

std::vector<std::string> DisabledSessions::names() const {
    const std::lock_guard guard{lock_};
    return {names_.begin(), names_.end()};
}

void DisabledSessions::write() const {
    core::create_folders(std::filesystem::path{file_}.parent_path(), file_mode_);
    std::string text;
    for (const auto& name : names()) text += name + "\n";
    service::replace_regular_file(file_, text, file_mode_);
}

}  // namespace millpond::fixd
