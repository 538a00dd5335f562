#include <millpond/net/unpacked_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace millpond::net {
namespace {

constexpr std::size_t kPageBytes = 4'096;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

bool is_zero(std::span<const std::byte> bytes) noexcept {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

bool is_packed(const std::string& path) {
    detail::ByteStream stream{path};
    static_cast<void>(stream.peek(1));
    return stream.packed_offset() != 0;
}

UnpackedFile::UnpackedFile(const std::string& path, const std::filesystem::path& folder, std::uint64_t most_bytes)
    : packed_(path), most_bytes_(most_bytes), stream_(path) {
    auto name = (folder / "millpond.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("cannot create a folder in '" + folder.string() + "'");
    folder_ = name;
    unpacked_ = folder_ / std::filesystem::path{path}.stem();
    file_ = core::Descriptor{::open(unpacked_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (file_) return;
    const int error = errno;
    ::rmdir(folder_.c_str());
    errno = error;
    fail("cannot create '" + unpacked_.string() + "'");
}

UnpackedFile::~UnpackedFile() {
    ::unlink(unpacked_.c_str());
    ::rmdir(folder_.c_str());
}

bool UnpackedFile::step() {
    if (!file_) return false;
    const auto bytes = stream_.peek(1);
    if (bytes.empty()) {
        finish();
        return false;
    }
    const auto room = most_bytes_ - stream_.offset();
    write(bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), room))));
    if (bytes.size() > room) {
        damage_ = "'" + packed_ + "': contents longer than " + std::to_string(most_bytes_) + " bytes";
        stream_.take(static_cast<std::size_t>(room));
        finish();
        return false;
    }
    stream_.take(bytes.size());
    return true;
}

void UnpackedFile::write(std::span<const std::byte> bytes) {
    auto at = stream_.offset();
    while (!bytes.empty()) {
        const auto to_page_end = kPageBytes - static_cast<std::size_t>(at % kPageBytes);
        const auto page = bytes.first(std::min(bytes.size(), to_page_end));
        // Segments are filled with zeros after their last record.
        for (auto left = is_zero(page) ? page.last(0) : page; !left.empty();) {
            const auto offset = static_cast<off_t>(at + (page.size() - left.size()));
            const auto wrote = ::pwrite(file_.get(), left.data(), left.size(), offset);
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote < 0) fail("cannot write '" + unpacked_.string() + "'");
            left = left.subspan(static_cast<std::size_t>(wrote));
        }
        at += page.size();
        bytes = bytes.subspan(page.size());
    }
}

void UnpackedFile::finish() {
    if (::ftruncate(file_.get(), static_cast<off_t>(stream_.offset())) != 0)
        fail("cannot write '" + unpacked_.string() + "'");
    file_ = core::Descriptor{};
    if (stream_.read_error() != 0)
        throw std::system_error(stream_.read_error(), std::generic_category(), "cannot read '" + packed_ + "'");
    if (damage_.empty() && !stream_.damage().empty()) damage_ = "'" + packed_ + "', " + stream_.damage();
}

}  // namespace millpond::net
