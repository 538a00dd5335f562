#include <millpond/net/file_contents.hpp>

#include <system_error>

#include <millpond/net/pcap_reader.hpp>

namespace millpond::net {

std::span<const std::byte> FileContents::next() {
    stream_.take(shown_);
    const auto bytes = stream_.peek(1);
    shown_ = bytes.size();
    if (!bytes.empty()) return bytes;
    if (stream_.read_error() != 0)
        throw std::system_error(stream_.read_error(), std::generic_category(), "cannot read '" + path_ + "'");
    if (!stream_.damage().empty()) throw FileFormatError("'" + path_ + "', " + stream_.damage());
    return {};
}

}  // namespace millpond::net
