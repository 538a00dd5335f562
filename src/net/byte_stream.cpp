#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <millpond/net/detail/byte_stream.hpp>

namespace millpond::net::detail {

ByteStream::ByteStream(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status{};
    if (!file_.valid() || fstat(file_.get(), &status) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot read '" + path + "'");
    if (S_ISDIR(status.st_mode)) throw std::system_error(EISDIR, std::generic_category(), "cannot read '" + path + "'");
    buffer_.resize(2 * kLongest);
}

std::span<const std::byte> ByteStream::peek(std::size_t count) {
    assert(count <= kLongest);
    while (window_.size() < count && !at_end_) refill();
    return window_;
}

void ByteStream::take(std::size_t count) noexcept {
    assert(count <= window_.size());
    window_ = window_.subspan(count);
    offset_ += count;
}

void ByteStream::refill() {
    if (!window_.empty()) std::memmove(buffer_.data(), window_.data(), window_.size());
    const auto kept = window_.size();
    const auto got = ::read(file_.get(), buffer_.data() + kept, buffer_.size() - kept);
    if (got < 0 && errno == EINTR) {
        window_ = {buffer_.data(), kept};
        return;
    }
    if (got < 0) read_error_ = errno;
    if (got <= 0) at_end_ = true;
    window_ = {buffer_.data(), kept + static_cast<std::size_t>(got > 0 ? got : 0)};
}

}  // namespace millpond::net::detail
