#include <millpond/files/file_begin.hpp>

#include <algorithm>
#include <system_error>

#include <millpond/files/detail/byte_stream.hpp>
#include <millpond/files/file_format_error.hpp>

namespace millpond::files {

std::vector<std::byte> file_begin(const std::string& path, std::size_t count) {
    detail::ByteStream stream{path};
    const auto shown = stream.peek(count);
    if (stream.read_error() != 0)
        throw std::system_error(stream.read_error(), std::generic_category(), "cannot read '" + path + "'");
    if (shown.size() < count && !stream.damage().empty()) throw FileFormatError("'" + path + "', " + stream.damage());
    const auto begin = shown.first(std::min(count, shown.size()));
    return {begin.begin(), begin.end()};
}

}  // namespace millpond::files
