#include "gateway/sinks/kafka/position_file.hpp"

#include <fcntl.h>

#include <array>
#include <bit>
#include <cerrno>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/crc32c.hpp>
#include <millpond/core/created_file.hpp>

namespace millpond::gateway::kafka {
namespace {

constexpr std::uint64_t kMagic = 0x00314E534F50504DULL;  // "MPPOSN1\0"
constexpr std::size_t kSlots = 2;

static_assert(std::endian::native == std::endian::little);
using Slot = std::array<std::uint64_t, 4>;

std::uint64_t checksum(const Slot& slot) { return millpond::core::crc32c(std::span{slot}.first<3>()); }

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
    throw std::system_error(errno, std::generic_category(), "position file '" + path.string() + "': cannot " + what);
}

/// Reason to refuse the file: another user could write it.
std::optional<std::string> refusal_of(int file) {
    struct stat facts{};
    if (fstat(file, &facts) != 0) return "cannot be examined";
    if (!S_ISREG(facts.st_mode) || facts.st_nlink != 1) return "is not a regular file with one name; remove it";
    if (facts.st_uid == geteuid() || facts.st_uid == 0) return std::nullopt;
    return "belongs to user " + std::to_string(facts.st_uid) + "; remove it, or run as its owner";
}

}  // namespace

PositionFile::PositionFile(const std::filesystem::path& path, mode_t mode)
    : path_(path), file_(core::open_or_create(path.c_str(), O_RDWR | O_NONBLOCK, mode)) {
    if (!file_) fail(path_, "open it");
    if (const auto refusal = refusal_of(file_.get()))
        throw std::runtime_error("position file '" + path_.string() + "': " + *refusal);
    if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) fail(path_, "lock it");
    read();
}

void PositionFile::read() {
    for (std::size_t i = 0; i < kSlots; ++i) {
        Slot slot{};
        const auto got = ::pread(file_.get(), slot.data(), sizeof(slot), static_cast<off_t>(i * sizeof(slot)));
        if (got != static_cast<ssize_t>(sizeof(slot))) continue;
        if (slot[0] != kMagic || slot[3] != checksum(slot) || slot[1] <= writes_) continue;
        writes_ = slot[1];
        record_ = slot[2];
    }
}

void PositionFile::save(std::uint64_t record) {
    Slot slot{kMagic, writes_ + 1, record, 0};
    slot[3] = checksum(slot);
    const auto at = static_cast<off_t>((writes_ + 1) % kSlots * sizeof(slot));
    if (::pwrite(file_.get(), slot.data(), sizeof(slot), at) != static_cast<ssize_t>(sizeof(slot)))
        fail(path_, "write it");
    ++writes_;
    record_ = record;
}

}  // namespace millpond::gateway::kafka
