#include <millpond/files/file_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/files/file_begin.hpp>
#include <millpond/files/file_format_error.hpp>
#include <millpond/files/pcap_reader.hpp>
#include <millpond/journal/layout.hpp>

namespace millpond::files {

std::optional<FileKind> detect_file_kind(const std::string& path) {
    if (std::filesystem::is_directory(path)) return FileKind::journal;
    const auto begin = file_begin(path, sizeof journal::kMagic);
    if (begin.size() < sizeof journal::kMagic) return std::nullopt;
    if (core::load_le<std::uint64_t>(begin.data()) == journal::kMagic) return FileKind::journal;
    if (PcapReader::is_capture(std::span{begin}.first<4>())) return FileKind::capture;
    const std::size_t length = core::load_be<std::uint16_t>(begin.data());
    const auto type = static_cast<char>(begin[2]);
    if (length != 0 && length == feed::itch_layout::message_bytes(type)) return FileKind::itch;
    return std::nullopt;
}

FileKind file_kind(const std::string& path) {
    if (const auto kind = detect_file_kind(path)) return *kind;
    throw FileFormatError("'" + path + "': neither a journal, a capture (pcap, pcapng) nor a file of ITCH messages");
}

}  // namespace millpond::files
