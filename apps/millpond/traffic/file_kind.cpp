#include "apps/millpond/traffic/file_kind.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/net/pcap_reader.hpp>

namespace millpond::traffic {

FileKind file_kind(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::array<std::byte, 4> begin{};
    file.read(reinterpret_cast<char*>(begin.data()), begin.size());
    if (file.gcount() == 0 && !file.eof())
        throw std::system_error(errno, std::generic_category(), "cannot read '" + path + "'");
    if (net::PcapReader::is_capture(begin)) return FileKind::pcap;
    const std::size_t length = core::load_be<std::uint16_t>(begin.data());
    const auto type = static_cast<char>(begin[2]);
    if (length != 0 && length == feed::itch_layout::message_bytes(type)) return FileKind::itch;
    throw net::FileFormatError("'" + path + "': neither a capture (pcap) nor a file of ITCH messages");
}

}  // namespace millpond::traffic
