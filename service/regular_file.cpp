#include "service/regular_file.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace millpond::service {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

[[noreturn]] void fail(int error) { throw std::runtime_error(std::generic_category().message(error)); }

/// An open regular file, closed at the end.
class Descriptor {
public:
    explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
        if (number_ < 0) fail(errno);
        if (::fstat(number_, &facts_) == 0 && S_ISREG(facts_.st_mode)) return;
        ::close(number_);
        throw std::runtime_error("is not a regular file");
    }
    ~Descriptor() { ::close(number_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int number() const noexcept { return number_; }
    [[nodiscard]] mode_t mode() const noexcept { return facts_.st_mode; }

private:
    int number_;
    struct stat facts_{};
};

}  // namespace

RegularFile read_regular_file(const std::string& path) {
    const Descriptor file{path};
    RegularFile result{.text = {}, .mode = file.mode()};
    std::array<char, 16'384> buffer;
    for (;;) {
        const auto got = ::read(file.number(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(errno);
        if (got == 0) return result;
        result.text.append(buffer.data(), static_cast<std::size_t>(got));
        if (result.text.size() > kMostBytes) throw std::runtime_error("has more than 64 MiB");
    }
}

void require_regular_file(const std::string& path) { static_cast<void>(Descriptor{path}); }

}  // namespace millpond::service
