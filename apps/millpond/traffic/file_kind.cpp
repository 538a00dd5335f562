#include "apps/millpond/traffic/file_kind.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/net/pcap_reader.hpp>

namespace millpond::traffic {

FileKind file_kind(const std::string& path) {
    if (std::filesystem::is_directory(path)) return FileKind::journal;
    std::ifstream file{path, std::ios::binary};
    std::array<std::byte, 8> begin{};
    file.read(reinterpret_cast<char*>(begin.data()), begin.size());
    if (file.gcount() == 0 && !file.eof())
        throw std::system_error(errno, std::generic_category(), "cannot read '" + path + "'");
    if (core::load_le<std::uint64_t>(begin.data()) == journal::kMagic) return FileKind::journal;
    if (net::PcapReader::is_capture(std::span{begin}.first<4>())) return FileKind::pcap;
    const std::size_t length = core::load_be<std::uint16_t>(begin.data());
    const auto type = static_cast<char>(begin[2]);
    if (length != 0 && length == feed::itch_layout::message_bytes(type)) return FileKind::itch;
    throw net::FileFormatError("'" + path + "': neither a journal, a capture (pcap) nor a file of ITCH messages");
}

}  // namespace millpond::traffic
