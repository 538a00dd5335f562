#include <system_error>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/files/itch_file_reader.hpp>

namespace millpond::files {

ItchFileReader::ItchFileReader(const std::string& path) : stream_(path), name_(path) {}

ItchFileReader::ItchFileReader(std::span<const std::byte> file, std::string name)
    : stream_(file), name_(std::move(name)) {}

bool ItchFileReader::next(std::span<const std::byte>& message) {
    if (complete_ || !error_.empty()) return false;
    stream_.consume(std::exchange(shown_, 0));
    auto bytes = stream_.peek(kLengthBytes);
    if (stream_.read_error() != 0)
        return fail("cannot be read: " + std::generic_category().message(stream_.read_error()));
    if (bytes.size() < kLengthBytes && !stream_.damage().empty()) return fail(stream_.damage());
    if (bytes.empty()) return false;
    if (bytes.size() < kLengthBytes) return fail("the file ends within the message's length");
    const std::size_t length = core::load_be<std::uint16_t>(bytes.data());
    if (length == 0) {
        bytes = stream_.peek(kLengthBytes + 1);
        if (bytes.size() > kLengthBytes) return fail("a message of no bytes, and more after it");
        complete_ = true;
        return false;
    }
    bytes = stream_.peek(kLengthBytes + length);
    if (bytes.size() < kLengthBytes + length && !stream_.damage().empty()) return fail(stream_.damage());
    if (bytes.size() < kLengthBytes + length)
        return fail("the file ends after " + std::to_string(bytes.size() - kLengthBytes) + " of the message's " +
                    std::to_string(length) + " bytes");
    shown_ = kLengthBytes + length;
    ++messages_;
    first_ = bytes.data();
    message = bytes.subspan(kLengthBytes, length);
    return true;
}

std::size_t ItchFileReader::next(std::span<std::span<const std::byte>> messages) {
    if (messages.empty() || !next(messages[0])) return 0;
    std::size_t count = 1;
    for (auto rest = stream_.peek(0).subspan(shown_); count < messages.size(); ++count) {
        if (rest.size() < kLengthBytes) break;
        const std::size_t length = core::load_be<std::uint16_t>(rest.data());
        if (length == 0 || rest.size() < kLengthBytes + length) break;
        messages[count] = rest.subspan(kLengthBytes, length);
        rest = rest.subspan(kLengthBytes + length);
        shown_ += kLengthBytes + length;
    }
    messages_ += count - 1;
    return count;
}

bool ItchFileReader::fail(const std::string& what) {
    error_ = "'" + name_ + "', message " + std::to_string(messages_ + 1) + " at byte " +
             std::to_string(stream_.offset()) + ": " + what;
    return false;
}

}  // namespace millpond::files
