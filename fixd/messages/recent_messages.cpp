#include "fixd/messages/recent_messages.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <span>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/rotated_file.hpp>
#include <millpond/fix/store_reader.hpp>

#include "fixd/print/message_finder.hpp"

namespace millpond::fixd {
namespace {

/// The last whole lines of a file, at most `bytes`; empty if it does not exist. Throws std::system_error.
std::string tail_of(const std::filesystem::path& file, std::size_t bytes) {
    const auto fail = [&] {
        const int error = errno;
        throw std::system_error(error, std::system_category(), "cannot read " + file.string());
    };
    const core::Descriptor opened{::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (!opened && errno == ENOENT) return {};
    struct stat status{};
    if (!opened || ::fstat(opened.get(), &status) != 0) fail();
    if (!S_ISREG(status.st_mode)) return {};
    const auto size = static_cast<std::size_t>(status.st_size);
    const auto begin = size - std::min(size, bytes);
    std::string text(size - begin, '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const auto got =
            ::pread(opened.get(), text.data() + done, text.size() - done, static_cast<off_t>(begin + done));
        if (got < 0) fail();
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    text.resize(text.rfind('\n') + 1);  // the writer may be in the middle of a line
    if (begin != 0) text.erase(0, text.find('\n') + 1);
    return text;
}

/// Whether the line of a raw log is a piece of this session: "TIME < NAME BYTES".
bool is_of(std::string_view line, std::string_view session) {
    constexpr std::size_t kDirectionChars = 3;
    const auto time = line.find(' ');
    if (line.starts_with('#') || time == std::string_view::npos) return false;
    const auto rest = line.substr(std::min(time + kDirectionChars, line.size()));
    return rest.starts_with(session) && rest.substr(session.size()).starts_with(' ');
}

/// The newest lines of the session, at most `count`, newest first. They refer to the text.
std::vector<std::string_view> lines_of(std::string_view text, std::string_view session, std::size_t count) {
    std::vector<std::string_view> lines;
    while (!text.empty() && lines.size() < count) {
        const auto before = text.substr(0, text.size() - 1).rfind('\n');
        const auto begin = before == std::string_view::npos ? 0 : before + 1;
        if (const auto line = text.substr(begin); is_of(line, session)) lines.push_back(line);
        text = text.substr(0, begin);
    }
    return lines;
}

}  // namespace

std::vector<RecentMessage> recent_in_raw_log(const std::filesystem::path& file, std::string_view session,
                                             std::size_t count, std::size_t searched) {
    std::string name{session};
    std::ranges::replace(name, ' ', '_');
    const auto newest = tail_of(file, searched);
    auto lines = lines_of(newest, name, count);
    std::string older;
    const auto renamed = core::RotatedFile{file.string()}.renamed(true);
    if (lines.size() < count && newest.size() < searched && !renamed.empty()) {
        older = tail_of(file.string() + "." + std::to_string(*renamed.rbegin()), searched - newest.size());
        std::ranges::copy(lines_of(older, name, count - lines.size()), std::back_inserter(lines));
    }
    std::vector<RecentMessage> messages;
    MessageFinder finder{
        [&](const FoundMessage& found) { messages.push_back({found.bytes, found.utc_ns, found.direction}); },
        [](std::string_view) {}};
    std::ranges::reverse(lines);
    for (const auto line : lines) finder.append(line);
    finder.finish();
    // A line may have several messages.
    if (messages.size() > count) messages.erase(messages.begin(), messages.end() - static_cast<std::ptrdiff_t>(count));
    return messages;
}

std::vector<RecentMessage> recent_in_store(const std::filesystem::path& store, std::size_t count) {
    const fix::StoreReader reader{store};
    const auto next = reader.next_sender();
    std::vector<RecentMessage> messages;
    reader.visit(next - std::min<std::uint64_t>(next, count), 0,
                 [&](std::uint64_t, std::string_view bytes) { messages.push_back({.bytes = std::string{bytes}}); });
    return messages;
}

}  // namespace millpond::fixd
