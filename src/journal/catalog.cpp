#include <millpond/journal/catalog.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace millpond::journal {
namespace {

constexpr std::string_view kSuffix = ".mpj";
constexpr std::size_t kDigits = 10;

}  // namespace

std::filesystem::path segment_path(const std::filesystem::path& folder, std::uint64_t ordinal) {
    auto digits = std::to_string(ordinal);
    if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
    return folder / digits.append(kSuffix);
}

std::vector<SegmentFile> list_segments(const std::filesystem::path& folder) {
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
