#include "apps/millpond/traffic/file_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/net/file_begin.hpp>
#include <millpond/net/pcap_reader.hpp>

namespace millpond::traffic {

FileKind file_kind(const std::string& path) {
    if (std::filesystem::is_directory(path)) return FileKind::journal;
    auto begin = net::file_begin(path, sizeof(std::uint64_t));
    begin.resize(sizeof(std::uint64_t));
    if (core::load_le<std::uint64_t>(begin.data()) == journal::kMagic) return FileKind::journal;
    if (net::PcapReader::is_capture(std::span{begin}.first<4>())) return FileKind::pcap;
    const std::size_t length = core::load_be<std::uint16_t>(begin.data());
    const auto type = static_cast<char>(begin[2]);
    if (length != 0 && length == feed::itch_layout::message_bytes(type)) return FileKind::itch;
    throw net::FileFormatError("'" + path +
                               "': neither a journal, a capture (pcap, pcapng) nor a file of ITCH messages");
}

}  // namespace millpond::traffic
