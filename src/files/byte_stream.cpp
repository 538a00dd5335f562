#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <millpond/files/detail/byte_stream.hpp>

#include "expander.hpp"

namespace millpond::files::detail {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{1} << 17;

template <std::size_t N>
bool begins(std::span<const std::byte> bytes, const std::array<unsigned char, N>& magic) {
    return bytes.size() >= N && std::memcmp(bytes.data(), magic.data(), N) == 0;
}

}  // namespace

ByteStream::ByteStream(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status{};
    if (!file_ || fstat(file_.get(), &status) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot read '" + path + "'");
    is_regular_ = S_ISREG(status.st_mode);
    if (is_regular_) opened_bytes_ = status.st_size;
    if (S_ISDIR(status.st_mode)) throw std::system_error(EISDIR, std::generic_category(), "cannot read '" + path + "'");
    buffer_.resize(2 * kMaxPeek);
}

ByteStream::ByteStream(std::span<const std::byte> bytes) noexcept : window_(bytes), at_end_(true) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

std::span<const std::byte> ByteStream::peek(std::size_t count) {
    assert(count <= kMaxPeek);
    while (window_.size() < count && !at_end_) refill();
    return window_;
}

void ByteStream::consume(std::size_t count) noexcept {
    assert(count <= window_.size());
    window_ = window_.subspan(count);
    offset_ += count;
}

/// Reads bytes. Returns 0 at the end or on an error, which is then in read_error_.
std::size_t ByteStream::read(std::span<std::byte> into) {
    for (;;) {
        // A forked process shares the descriptor's offset, so the stream has its own.
        const auto got = is_regular_ ? ::pread(file_.get(), into.data(), into.size(), read_at_)
                                     : ::read(file_.get(), into.data(), into.size());
        if (got >= 0) {
            read_at_ += got;
            return static_cast<std::size_t>(got);
        }
        if (errno == EINTR) continue;
        read_error_ = errno;
        return 0;
    }
}

/// Marks the end of the stream; a file that is shorter than when it was opened is an error.
void ByteStream::end() {
    at_end_ = true;
    if (read_error_ == 0 && read_at_ < opened_bytes_) {
        damage_ = "byte " + std::to_string(read_at_) + ": the file ends here, but had " +
                  std::to_string(opened_bytes_) + " bytes when it was opened";
    }
}

void ByteStream::refill() {
    if (!started_) {
        begin_expanding();
        return;
    }
    if (!window_.empty()) std::memmove(buffer_.data(), window_.data(), window_.size());
    window_ = {buffer_.data(), window_.size()};
    if (expander_ != nullptr) {
        expand();
        return;
    }
    const auto got = read(std::span{buffer_}.subspan(window_.size()));
    if (got == 0) end();
    window_ = {buffer_.data(), window_.size() + got};
}

/// Detects whether the file is compressed, at the first read.
void ByteStream::begin_expanding() {
    constexpr std::array<unsigned char, 2> kGzip{0x1F, 0x8B};
    constexpr std::array<unsigned char, 4> kZstd{0x28, 0xB5, 0x2F, 0xFD};
    started_ = true;
    std::size_t got = 0;
    while (got < kZstd.size() && !at_end_) {
        const auto more = read(std::span{buffer_}.subspan(got));
        if (more == 0) end();
        got += more;
    }
    const auto begin = std::span<const std::byte>{buffer_}.first(got);
    const bool gzip = begins(begin, kGzip);
    if (!gzip && !begins(begin, kZstd)) {
        window_ = begin;
        return;
    }
    expander_ = gzip ? make_gzip_expander() : make_zstd_expander();
    if (expander_ == nullptr) {
        damage_ = gzip ? "compressed by gzip, which this build cannot read"
                       : "compressed by zstd, which this build cannot read";
        at_end_ = true;
        return;
    }
    packed_buffer_.assign(begin.begin(), begin.end());
    packed_ = packed_buffer_;
    at_end_ = false;
}

void ByteStream::expand() {
    if (packed_.empty()) {
        packed_buffer_.resize(kPackedBytes);
        packed_ = std::span<const std::byte>{packed_buffer_}.first(read(packed_buffer_));
    }
    const bool no_more = packed_.empty();
    if (no_more && (expander_->complete() || read_error_ != 0)) return end();
    const auto step = expander_->expand(packed_, std::span{buffer_}.subspan(window_.size()));
    packed_ = packed_.subspan(step.consumed);
    packed_offset_ += step.consumed;
    window_ = {buffer_.data(), window_.size() + step.made};
    if (step.error != nullptr) {
        damage_ = "compressed byte " + std::to_string(packed_offset_) + ": " + step.error;
    } else if (no_more && step.made == 0) {
        damage_ = "compressed byte " + std::to_string(packed_offset_) + ": the file ends within its compressed data";
    }
    at_end_ = !damage_.empty();
}

}  // namespace millpond::files::detail
