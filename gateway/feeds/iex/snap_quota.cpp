#include "gateway/feeds/iex/snap_quota.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <millpond/core/created_file.hpp>
#include <millpond/feed/iex_snap.hpp>

namespace millpond::gateway::iex {
namespace {

constexpr std::size_t kDateBytes = 10;
constexpr std::size_t kLineBytes = kDateBytes + 6;  // "2026-11-30 0017\n"

std::string date_of(std::int64_t utc_ns, int more_days = 0) {
    const auto day = std::chrono::floor<std::chrono::days>(
        std::chrono::sys_time<std::chrono::nanoseconds>{std::chrono::nanoseconds{utc_ns}});
    const std::chrono::year_month_day date{day + std::chrono::days{more_days}};
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()));
}

/// The count in a line "2026-11-30 0017\n"; -1 if it is none.
std::int64_t count_in(std::string_view line) {
    if (line.size() != kLineBytes || line[kDateBytes] != ' ' || line.back() != '\n') return -1;
    const auto digits = line.substr(kDateBytes + 1, 4);
    std::int64_t count = -1;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return read.ec == std::errc{} && read.ptr == digits.data() + digits.size() ? count : -1;
}

}  // namespace

std::uint64_t SnapQuota::count(std::int64_t now_utc_ns) {
    const auto fail = [&](const char* what) {
        const int error = errno;
        throw std::system_error(error, std::generic_category(), fmt::format("{} '{}'", what, path_));
    };
    std::error_code ignored;  // the file cannot be opened then
    std::filesystem::create_directories(std::filesystem::path{path_}.parent_path(), ignored);
    const auto file = core::open_or_create(path_.c_str(), O_RDWR, core::kFileMode);
    if (!file || ::flock(file.get(), LOCK_EX) != 0) fail("cannot open");
    std::array<char, kLineBytes + 1> bytes;
    const auto got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) fail("cannot read");
    const std::string_view line{bytes.data(), static_cast<std::size_t>(got)};
    const auto date = date_of(now_utc_ns);
    std::int64_t count = 0;
    if (!line.empty()) {
        count = count_in(line);
        if (count < 0) throw std::runtime_error(fmt::format("'{}' is not a count of snapshot requests", path_));
        if (!line.starts_with(date)) count = 0;
    }
    if (count >= static_cast<std::int64_t>(feed::iex_snap::kMaxRequests)) {
        throw std::runtime_error(
            fmt::format("{} snapshots were requested on {}, and IEX allows no more: the next one "
                        "is requested on {} UTC ('{}')",
                        count, date, date_of(now_utc_ns, 1), path_));
    }
    ++count;
    const auto text = fmt::format("{} {:04}\n", date, count);
    if (::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) fail("cannot write");
    return static_cast<std::uint64_t>(count);
}

}  // namespace millpond::gateway::iex
