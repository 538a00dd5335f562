#include <millpond/journal/saved_position.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/core/crc32c.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/core/whole_file.hpp>
#include <millpond/journal/journal_error.hpp>

namespace millpond::journal {
namespace {

constexpr std::uint64_t kPositionMagic = 0x005044414552504DULL;  // "MPREADP\0"
constexpr std::uint64_t kPositionVersion = 1;

/// The words of the file: magic, version, epoch, ring, record, checksum.
using Words = std::array<std::uint64_t, 6>;

std::uint64_t checksum_of(const Words& words) noexcept { return core::crc32c(std::span{words}.first<5>()); }

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
    throw std::system_error(errno, std::generic_category(), std::string{"cannot "} + what + " '" + file.string() + "'");
}

}  // namespace

void save_position(const std::filesystem::path& file, const SavedPosition& position) {
    Words words{kPositionMagic, kPositionVersion, position.epoch, position.ring, position.record, 0};
    words.back() = checksum_of(words);
    core::WholeFile whole{file.string()};
    whole.write({reinterpret_cast<const char*>(words.data()), sizeof words});
    if (fsync(whole.descriptor()) != 0) fail(file, "sync");
    whole.commit();
}

std::optional<SavedPosition> load_position(const std::filesystem::path& file) {
    const core::Descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!opened && errno == ENOENT) return std::nullopt;
    if (!opened) fail(file, "open");
    std::array<std::uint64_t, Words{}.size() + 1> found{};  // longer than the file may be
    const auto bytes = ::read(opened.get(), found.data(), sizeof found);
    if (bytes < 0) fail(file, "read");
    Words words{};
    std::copy_n(found.begin(), words.size(), words.begin());
    const auto refuse = [&](const std::string& what) -> JournalError {
        return JournalError{file.string() + ": " + what};
    };
    if (bytes < 16 || words[0] != kPositionMagic) throw refuse("not a reader's position");
    if (words[1] != kPositionVersion) {
        throw refuse("a reader's position of version " + std::to_string(words[1]) + "; this build reads version " +
                     std::to_string(kPositionVersion));
    }
    if (bytes != sizeof words || words[5] != checksum_of(words)) throw refuse("a reader's position that is damaged");
    return SavedPosition{.epoch = words[2], .ring = words[3], .record = words[4]};
}

}  // namespace millpond::journal
