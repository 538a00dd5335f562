#include <millpond/files/unpacked_file.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <millpond/core/file_size_limit.hpp>

namespace millpond::files {
namespace {

constexpr std::size_t kPageBytes = 4'096;

/// On tmpfs, reading a sparse range through a mapping allocates a page, and ends the process if there is no memory.
bool is_tmpfs(const core::Descriptor& file) noexcept {
    struct statfs facts{};
    return ::fstatfs(file.get(), &facts) == 0 && facts.f_type == TMPFS_MAGIC;
}

bool is_zero(std::span<const std::byte> bytes) noexcept {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

bool is_packed(const std::string& path) {
    detail::ByteStream stream{path};
    static_cast<void>(stream.peek(1));
    return stream.packed_offset() != 0;
}

UnpackedFile::UnpackedFile(const std::string& path, const std::filesystem::path& folder, std::uint64_t max_bytes)
    : packed_(path), max_bytes_(max_bytes), stream_(path), parent_(folder) {
    const auto what = "cannot unpack '" + packed_ + "' into '" + parent_.string() + "'";
    auto name = (folder / "millpond.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail(what);
    folder_ = name;
    unpacked_ = folder_ / std::filesystem::path{path}.stem();
    file_ = core::Descriptor{::open(unpacked_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!file_) fail(what);
}

UnpackedFile::~UnpackedFile() { remove(); }

void UnpackedFile::remove() noexcept {
    if (folder_.empty()) return;
    ::unlink(unpacked_.c_str());
    ::rmdir(folder_.c_str());
    folder_.clear();
}

/// Requires that errno is set.
void UnpackedFile::fail(const std::string& what) {
    error_ = errno;
    failure_ = what;
    if (error_ == ENOSPC || error_ == EDQUOT) {
        failure_ += "; free space there, or choose another folder for temporary files (TMPDIR)";
    }
    file_ = core::Descriptor{};
    remove();
    throw std::system_error(error_, std::generic_category(), failure_);
}

void UnpackedFile::fail_to_write(std::uint64_t at) {
    fail("cannot unpack '" + packed_ + "' into '" + parent_.string() + "': cannot write byte " + std::to_string(at) +
         " of its contents");
}

bool UnpackedFile::step() {
    if (error_ != 0) throw std::system_error(error_, std::generic_category(), failure_);
    if (!file_) return false;
    const auto bytes = stream_.peek(1);
    if (bytes.empty()) {
        finish();
        return false;
    }
    const auto left = max_bytes_ - stream_.offset();
    write(bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left))));
    if (bytes.size() > left) {
        damage_ = "'" + packed_ + "': contents longer than " + std::to_string(max_bytes_) + " bytes";
        stream_.consume(static_cast<std::size_t>(left));
        finish();
        return false;
    }
    stream_.consume(bytes.size());
    return true;
}

void UnpackedFile::write(std::span<const std::byte> bytes) {
    auto at = stream_.offset();
    const core::FileSizeLimit limit;
    while (!bytes.empty()) {
        const auto to_page_end = kPageBytes - static_cast<std::size_t>(at % kPageBytes);
        const auto page = bytes.first(std::min(bytes.size(), to_page_end));
        // Segments are filled with zeros after their last record.
        for (auto left = is_zero(page) ? page.last(0) : page; !left.empty();) {
            const auto offset = static_cast<off_t>(at + (page.size() - left.size()));
            const auto wrote = ::pwrite(file_.get(), left.data(), left.size(), offset);
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote < 0) fail_to_write(static_cast<std::uint64_t>(offset));
            left = left.subspan(static_cast<std::size_t>(wrote));
        }
        at += page.size();
        bytes = bytes.subspan(page.size());
    }
}

void UnpackedFile::finish() {
    const auto bytes = stream_.offset();
    if (stream_.read_error() != 0) {
        errno = stream_.read_error();
        fail("cannot read '" + packed_ + "'");
    }
    {
        const core::FileSizeLimit limit;
        if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) fail_to_write(bytes);
    }
    if (is_tmpfs(file_)) allocate(bytes);
    file_ = core::Descriptor{};
    if (damage_.empty() && !stream_.damage().empty()) damage_ = "'" + packed_ + "', " + stream_.damage();
}

/// Allocates in pieces, because a signal would undo a single call for everything.
void UnpackedFile::allocate(std::uint64_t bytes) {
    constexpr std::uint64_t kPieceBytes = std::uint64_t{16} << 20U;
    const core::FileSizeLimit limit;
    for (std::uint64_t at = 0; at < bytes;) {
        const auto piece = std::min(kPieceBytes, bytes - at);
        if (::fallocate(file_.get(), 0, static_cast<off_t>(at), static_cast<off_t>(piece)) == 0) {
            at += piece;
        } else if (errno != EINTR) {
            fail_to_write(at);
        }
    }
}

}  // namespace millpond::files
