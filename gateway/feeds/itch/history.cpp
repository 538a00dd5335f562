#include "gateway/feeds/itch/history.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include <millpond/files/file_begin.hpp>
#include <millpond/files/pcap_reader.hpp>

namespace millpond::gateway::itch {
namespace {

using Visit = HistoryReader::Visit;

bool is_capture(const std::filesystem::path& path) {
    auto begin = files::file_begin(path.string(), sizeof(std::uint32_t));
    begin.resize(sizeof(std::uint32_t));
    return files::PcapReader::is_capture(std::span{begin}.first<sizeof(std::uint32_t)>());
}

/// Returns the name without the extension of a compressed file.
std::string_view uncompressed_name(std::string_view name) {
    for (const std::string_view ending : {".gz", ".zst"}) {
        if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
    }
    return name;
}

/// Lists a capture's files in the order in which they were written: by name, then by number; the newest has no number.
/// Includes files that were compressed or converted to pcapng later.
std::vector<std::filesystem::path> captures_in(const std::filesystem::path& folder) {
    struct Named {
        std::string stem;
        std::uint64_t number;
        std::filesystem::path path;
    };
    constexpr std::string_view kSuffix = ".pcap";
    std::vector<Named> found;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        const auto file_name = entry.path().filename().string();
        const auto name = uncompressed_name(file_name);
        const auto at = name.rfind(kSuffix);
        if (at == std::string::npos) continue;
        auto rest = name.substr(at + kSuffix.size());
        if (rest.starts_with("ng")) rest.remove_prefix(2);
        auto number = std::numeric_limits<std::uint64_t>::max();
        if (!rest.empty()) {
            const auto* const end = rest.data() + rest.size();
            const auto read = std::from_chars(rest.data() + 1, end, number);
            if (rest.front() != '.' || read.ec != std::errc{} || read.ptr != end) continue;
        }
        found.push_back({std::string{name.substr(0, at)}, number, entry.path()});
    }
    std::ranges::sort(found, {}, [](const Named& named) { return std::tie(named.stem, named.number); });
    std::vector<std::filesystem::path> paths;
    for (auto& named : found) paths.push_back(std::move(named.path));
    return paths;
}

/// Calls `visit` for the file's datagrams to these ports. False if `visit` stopped it. Sets `damage` to the reason if
/// the file ends early, unless it is set already.
bool read_capture(const std::filesystem::path& path, const std::vector<std::uint16_t>& ports, const Visit& visit,
                  std::string& damage) {
    files::PcapReader reader{path.string()};
    for (files::CapturedDatagram datagram; reader.next(datagram);) {
        if (std::ranges::find(ports, datagram.destination.port()) == ports.end()) continue;
        if (!visit(datagram.payload, datagram.utc_ns)) return false;
    }
    if (damage.empty()) damage = reader.error();
    return true;
}

/// Whether the history is a file of ITCH messages, which has no session names.
bool has_no_session(const History& history) {
    return !std::filesystem::is_directory(history.path) && !is_capture(history.path);
}

}  // namespace

HistoryReader::HistoryReader(const History& history, const feed::moldudp64_layout::Session& session)
    : history_(history), encoder_(std::string_view{session.data(), session.size()}) {
    if (has_no_session(history)) messages_.emplace(history.path);
}

void HistoryReader::read(std::uint64_t end, const Visit& visit) {
    if (messages_) return read_messages(end, visit);
    const bool is_folder = std::filesystem::is_directory(history_.path);
    damage_.clear();
    for (const auto& path :
         is_folder ? captures_in(history_.path) : std::vector<std::filesystem::path>{history_.path}) {
        if (!read_capture(path, history_.ports, visit, damage_)) break;
    }
}

void HistoryReader::read_messages(std::uint64_t end, const Visit& visit) {
    std::array<std::byte, 1'400> buffer;
    for (bool goes_on = true; goes_on && encoder_.next_sequence() < end;) {
        const auto first = encoder_.next_sequence();
        encoder_.begin(buffer);
        while (encoder_.next_sequence() < end) {
            if (waiting_.empty() && !messages_->next(waiting_)) break;
            if (!encoder_.add(waiting_)) break;  // full; every ITCH message fits an empty datagram
            waiting_ = {};
        }
        const auto datagram = encoder_.finish();
        goes_on = encoder_.next_sequence() != first && visit(datagram, 0);
    }
    damage_ = messages_->error();
}

}  // namespace millpond::gateway::itch
