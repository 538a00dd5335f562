#include "service/regular_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/core/created_file.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/core/whole_file.hpp>

namespace millpond::service {
namespace {

[[noreturn]] void fail(int error) { throw std::runtime_error(std::generic_category().message(error)); }

[[noreturn]] void fail_at(const std::string& step) {
    throw std::runtime_error(step + ": " + std::generic_category().message(errno));
}

/// Opens the file if it is a regular file.
core::Descriptor open_regular(const std::string& path, struct stat& facts) {
    core::Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (!file) fail(errno);
    if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) throw std::runtime_error("is not a regular file");
    return file;
}

}  // namespace

RegularFile read_regular_file(const std::string& path, std::size_t max_bytes) {
    struct stat facts{};
    const auto file = open_regular(path, facts);
    RegularFile result{.text = {}, .mode = facts.st_mode};
    std::array<char, 16'384> buffer;
    for (;;) {
        const auto got = ::read(file.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(errno);
        if (got == 0) return result;
        result.text.append(buffer.data(), static_cast<std::size_t>(got));
        if (result.text.size() > max_bytes)
            throw std::runtime_error(fmt::format("has more than {} MiB", max_bytes >> 20U));
    }
}

void replace_regular_file(const std::string& path, std::string_view text, mode_t mode) {
    struct stat facts{};
    const bool is_there = ::stat(path.c_str(), &facts) == 0;
    if (!is_there && errno != ENOENT) fail_at("stat");
    core::WholeFile file{path, 0600};
    file.write(text);
    // Users who could read the old file can read the new one. The owner is preserved if permitted.
    if (is_there && ::fchown(file.descriptor(), facts.st_uid, facts.st_gid) != 0 && errno != EPERM) fail_at("owner");
    if (::fchmod(file.descriptor(), is_there ? facts.st_mode & 07777U : mode) != 0) fail_at("permissions");
    if (::fsync(file.descriptor()) != 0) fail_at("fsync");
    file.commit();
    core::sync_folder_of(path);
}

}  // namespace millpond::service
