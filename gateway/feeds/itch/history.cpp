#include "gateway/feeds/itch/history.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>
#include <tuple>

#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/net/itch_file_reader.hpp>
#include <millpond/net/pcap_reader.hpp>

namespace millpond::gateway::itch {
namespace {

using Take = std::function<bool(std::span<const std::byte>)>;

bool is_capture(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::array<std::byte, 4> begin{};
    file.read(reinterpret_cast<char*>(begin.data()), begin.size());
    if (!file && !file.eof())
        throw std::system_error(errno, std::generic_category(), "cannot read '" + path.string() + "'");
    return net::PcapReader::is_capture(begin);
}

/// A capture's files in the order in which they were written: by name, then by number, the newest has none.
std::vector<std::filesystem::path> captures_in(const std::filesystem::path& folder) {
    struct Named {
        std::string stem;
        std::uint64_t number;
        std::filesystem::path path;
    };
    constexpr std::string_view kSuffix = ".pcap";
    std::vector<Named> found;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        const auto name = entry.path().filename().string();
        const auto at = name.rfind(kSuffix);
        if (at == std::string::npos) continue;
        const auto rest = std::string_view{name}.substr(at + kSuffix.size());
        auto number = std::numeric_limits<std::uint64_t>::max();
        if (!rest.empty()) {
            const auto* const end = rest.data() + rest.size();
            const auto read = std::from_chars(rest.data() + 1, end, number);
            if (rest.front() != '.' || read.ec != std::errc{} || read.ptr != end) continue;
        }
        found.push_back({name.substr(0, at), number, entry.path()});
    }
    std::ranges::sort(found, {}, [](const Named& named) { return std::tie(named.stem, named.number); });
    std::vector<std::filesystem::path> paths;
    for (auto& named : found) paths.push_back(std::move(named.path));
    return paths;
}

bool read_capture(const std::filesystem::path& path, const std::vector<std::uint16_t>& ports, const Take& take) {
    net::PcapReader reader{path.string()};
    for (net::CapturedDatagram datagram; reader.next(datagram);) {
        if (std::ranges::find(ports, datagram.destination.port()) == ports.end()) continue;
        if (!take(datagram.payload)) return false;
    }
    return true;
}

void read_messages(const std::string& path, const feed::moldudp64_layout::Session& session, std::uint64_t end,
                   const Take& take) {
    net::ItchFileReader reader{path};
    feed::MoldUdp64Encoder encoder{std::string_view{session.data(), session.size()}};
    std::array<std::byte, 1'400> buffer;
    std::span<const std::byte> message;
    encoder.begin(buffer);
    while (encoder.next_sequence() < end && reader.next(message)) {
        if (encoder.add(message)) continue;
        if (!take(encoder.finish())) return;
        encoder.begin(buffer);
        if (!encoder.add(message)) return;  // no ITCH message is so long
    }
    take(encoder.finish());
}

}  // namespace

bool has_no_session(const History& history) {
    return !std::filesystem::is_directory(history.path) && !is_capture(history.path);
}

void read_history(const History& history, const feed::moldudp64_layout::Session& session, std::uint64_t end,
                  const Take& take) {
    if (has_no_session(history)) return read_messages(history.path, session, end, take);
    if (!std::filesystem::is_directory(history.path)) {
        read_capture(history.path, history.ports, take);
        return;
    }
    for (const auto& path : captures_in(history.path)) {
        if (!read_capture(path, history.ports, take)) return;
    }
}

}  // namespace millpond::gateway::itch
