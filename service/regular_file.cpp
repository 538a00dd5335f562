#include "service/regular_file.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::service {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

[[noreturn]] void fail(int error) { throw std::runtime_error(std::generic_category().message(error)); }

/// Opens it when it is a regular file.
core::Descriptor open_regular(const std::string& path, struct stat& facts) {
    core::Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (!file) fail(errno);
    if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) throw std::runtime_error("is not a regular file");
    return file;
}

}  // namespace

RegularFile read_regular_file(const std::string& path) {
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
        if (result.text.size() > kMostBytes) throw std::runtime_error("has more than 64 MiB");
    }
}

void require_regular_file(const std::string& path) {
    struct stat facts{};
    static_cast<void>(open_regular(path, facts));
}

}  // namespace millpond::service
