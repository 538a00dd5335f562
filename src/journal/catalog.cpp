#include <millpond/journal/catalog.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include <millpond/journal/journal_error.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::journal {
namespace {

constexpr std::string_view kSuffix = ".mpj";
constexpr std::size_t kDigits = 10;

}  // namespace

SegmentInfo describe_segment(const SegmentFile& file) {
    SegmentInfo info{.file = file};
    struct stat facts{};
    constexpr std::uint64_t kStatBlock = 512;
    if (stat(file.path.c_str(), &facts) == 0)
        info.disk_bytes = static_cast<std::uint64_t>(facts.st_blocks) * kStatBlock;
    try {
        if (SegmentReader::is_blank(file.path)) return info;
        SegmentReader segment{file.path};
        const auto& identity = segment.identity();
        info.ring = identity.ring.view();
        info.epoch = identity.epoch;
        info.session = identity.session;
        info.first_record = identity.first_record;
        info.begun_utc_ns = identity.begun_utc_ns;
        info.needed_checkpoint = segment.needed_checkpoint();
        if (!segment.fault().empty()) info.error = file.path.string() + ": " + segment.fault();
        if (segment.ended()) {
            info.state = SegmentState::ended;
            info.next_record = segment.tail()->next_record;
            info.newest_utc_ns = segment.tail()->newest_utc_ns;
        } else {
            info.state = SegmentState::growing;
            segment.seek(UINT64_MAX);
            RecordView record;
            for (auto outcome = ReadOutcome::record;
                 outcome == ReadOutcome::record || outcome == ReadOutcome::damaged;) {
                outcome = segment.next(record);
            }
            info.next_record = segment.next_record();
        }
    } catch (const std::exception& error) {
        info.state = SegmentState::unreadable;
        info.error = error.what();
    }
    return info;
}

std::vector<SegmentInfo> describe_segments(const std::filesystem::path& folder) {
    auto newest = newest_started(folder);
    std::vector<SegmentInfo> infos;
    for (const auto& file : list_segments(folder)) {
        infos.push_back(describe_segment(file));
        if (infos.back().state != SegmentState::waiting) newest = std::max(newest, file.ordinal);
    }
    for (auto& info : infos) {
        if (info.state != SegmentState::waiting || info.file.ordinal > newest) continue;
        // Segments are started in order. A writer may have started this one since the first look.
        info = describe_segment(info.file);
        if (info.state != SegmentState::waiting || !std::filesystem::exists(info.file.path)) continue;
        info.state = SegmentState::unreadable;
        info.error = info.file.path.string() + ": it is empty";
    }
    return infos;
}

bool is_segment_failure(const std::exception& error) noexcept {
    if (dynamic_cast<const JournalError*>(&error) != nullptr) return true;
    const auto* system = dynamic_cast<const memory::RegionError*>(&error);
    if (system == nullptr) return false;
    switch (system->code().value()) {
        case EINVAL:  // not a regular file
        case EISDIR:
        case ENXIO:
        case ELOOP:
        case EACCES:
        case EPERM:
        case ENOENT: return true;
        default: return false;
    }
}

std::filesystem::path set_aside(const SegmentFile& file) {
    const auto name = file.path.string() + ".damaged";
    auto to = std::filesystem::path{name};
    for (int i = 1; std::filesystem::exists(std::filesystem::symlink_status(to)); ++i) {
        to = name + "." + std::to_string(i);
    }
    std::filesystem::rename(file.path, to);
    return to;
}

std::filesystem::path segment_path(const std::filesystem::path& folder, std::uint64_t ordinal) {
    auto digits = std::to_string(ordinal);
    if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
    return folder / digits.append(kSuffix);
}

std::vector<SegmentFile> list_segments(const std::filesystem::path& folder) {
    if (std::filesystem::is_regular_file(folder)) return {{1, folder}};
    std::vector<SegmentFile> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const auto name = entry.path().filename().string();
        if (!name.ends_with(kSuffix)) continue;
        const auto digits = std::string_view{name}.substr(0, name.size() - kSuffix.size());
        std::uint64_t ordinal = 0;
        const auto* end = digits.data() + digits.size();
        const auto parsed = std::from_chars(digits.data(), end, ordinal);
        if (digits.size() < kDigits || parsed.ptr != end || parsed.ec != std::errc{}) continue;
        files.push_back({ordinal, entry.path()});
    }
    std::ranges::sort(files, {}, &SegmentFile::ordinal);
    return files;
}

}  // namespace millpond::journal
