#include "apps/millpond/journal/journal_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <millpond/journal/layout.hpp>

#include "apps/millpond/command_line/command.hpp"

namespace millpond::app {
namespace {

constexpr std::string_view kSuffix = ".mpj";

/// Whether the name is that of a journal's file: a segment, a segment that was set aside, or the lock.
bool is_journal_name(const std::string& name) {
    return name == journal::kLockName || name.ends_with(kSuffix) || name.find(".mpj.damaged") != std::string::npos;
}

}  // namespace

UnpackedJournal::UnpackedJournal(const std::string& path) : path_(path) {
    if (std::filesystem::is_directory(path) || !files::is_packed(path)) return;
    copy_.emplace(path, std::filesystem::temp_directory_path(), journal::kMaxSegmentBytes);
    while (copy_->step()) {
    }
    path_ = copy_->path().string();
}

std::vector<journal::SegmentInfo> segments_of(const std::string& folder) {
    if (!std::filesystem::exists(folder)) throw std::runtime_error(fmt::format("'{}' does not exist", folder));
    if (!std::filesystem::is_directory(folder) && !std::filesystem::is_regular_file(folder)) {
        throw NoJournal(fmt::format("'{}' is not a journal: it is neither a folder nor a segment's file", folder));
    }
    std::error_code unknown;
    if (std::filesystem::is_regular_file(folder) && std::filesystem::file_size(folder, unknown) == 0)
        throw NoJournal(fmt::format("'{}' is not a journal: the file is empty", folder));
    auto segments = journal::describe_segments(folder);
    if (segments.empty() && !std::filesystem::exists(std::filesystem::path{folder} / journal::kLockName)) {
        throw NoJournal(fmt::format("'{}' is not a journal: it holds no segment", folder));
    }
    // If no file is readable, the folder may not be a journal.
    const auto unreadable = [](const auto& segment) { return segment.state == journal::SegmentState::unreadable; };
    if (!segments.empty() && std::ranges::all_of(segments, unreadable)) {
        std::string why;
        for (const auto& segment : segments) why += segment.error + "\n";
        throw NoJournal(fmt::format("{}'{}' is not a journal: none of its segments can be read", why, folder));
    }
    return segments;
}

void refuse_own_file(const std::string& folder, const std::string& file) {
    std::error_code unknown;
    if (!std::filesystem::is_directory(folder)) {
        if (std::filesystem::equivalent(folder, file, unknown))
            throw UsageError(fmt::format("'{}' is the file that is read; write to another one", file));
        return;
    }
    const auto refuse = [&] {
        throw UsageError(fmt::format("'{}' is a file of the journal '{}'; write to another one", file, folder));
    };
    const std::filesystem::path path{file};
    const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
    if (std::filesystem::equivalent(parent, folder, unknown) && is_journal_name(path.filename().string())) refuse();
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (!is_journal_name(entry.path().filename().string())) continue;
        if (std::filesystem::equivalent(entry.path(), file, unknown)) refuse();
    }
}

}  // namespace millpond::app
