#include "fixd/sessions/disabled_sessions.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/core/created_file.hpp>

namespace millpond::fixd {

DisabledSessions::DisabledSessions(std::string file, std::uint32_t file_mode, service::Log& log)
    : file_(std::move(file)), file_mode_(file_mode), log_(&log) {
    if (file_.empty() || ::access(file_.c_str(), F_OK) != 0) return;
    std::ifstream in{file_};
    for (std::string line; std::getline(in, line);) {
        if (!line.empty()) names_.insert(line);
    }
    if (!in.eof()) throw std::runtime_error(fmt::format("cannot read {}, the list of disabled sessions", file_));
}

bool DisabledSessions::has(std::string_view session) const {
    const std::lock_guard guard{lock_};
    return names_.contains(session);
}

void DisabledSessions::set(std::string_view session, bool disabled) {
    const std::lock_guard guard{lock_};
    const auto known = names_.find(session);
    if ((known != names_.end()) == disabled) return;
    if (disabled) {
        names_.emplace(session);
    } else {
        names_.erase(known);
    }
    if (file_.empty()) return;
    try {
        write();
    } catch (const std::exception& error) {
        log_->say(service::Severity::error, "disabled sessions",
                  fmt::format("{}: a restart may forget that sessions are disabled: {}", file_, error.what()));
    }
}

/// A process that dies meanwhile leaves the former list.
void DisabledSessions::write() const {
    const auto next = file_ + ".next";
    const auto fail = [](const char* what) { throw std::system_error(errno, std::generic_category(), what); };
    core::create_folders(std::filesystem::path{file_}.parent_path(), file_mode_);
    std::string text;
    for (const auto& name : names_) text += name + "\n";
    const auto file = core::open_or_create(next.c_str(), O_WRONLY | O_TRUNC, file_mode_);
    if (!file) fail("open");
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) fail("write");
    if (::fsync(file.get()) != 0) fail("fsync");
    if (std::rename(next.c_str(), file_.c_str()) != 0) fail("rename");
    core::sync_folder_of(file_);
}

}  // namespace millpond::fixd
