#include <millpond/files/file_contents.hpp>

#include <system_error>

#include <millpond/files/file_format_error.hpp>

namespace millpond::files {

std::span<const std::byte> FileContents::next() {
    stream_.consume(shown_);
    const auto bytes = stream_.peek(1);
    shown_ = bytes.size();
    if (!bytes.empty()) return bytes;
    if (stream_.read_error() != 0)
        throw std::system_error(stream_.read_error(), std::generic_category(), "cannot read '" + path_ + "'");
    if (!stream_.damage().empty()) throw FileFormatError("'" + path_ + "', " + stream_.damage());
    return {};
}

}  // namespace millpond::files
