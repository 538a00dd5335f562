#include <millpond/net/pack_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <millpond/core/descriptor.hpp>

#include "packer.hpp"

namespace millpond::net {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{128} * 1024;

std::error_code system_error() { return {errno, std::generic_category()}; }

std::error_code write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return system_error();
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

std::error_code pack(int from, int to, detail::Packer& packer, const std::atomic<bool>& stop) {
    std::vector<std::byte> in(kPieceBytes);
    std::vector<std::byte> out(kPieceBytes);
    for (;;) {
        if (stop.load(std::memory_order_relaxed)) return std::make_error_code(std::errc::operation_canceled);
        const auto got = ::read(from, in.data(), in.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error();
        auto left = std::span<const std::byte>{in}.first(static_cast<std::size_t>(got));
        for (bool complete = false; !complete;) {
            const auto step = packer.pack(left, out, got == 0);
            if (step.failed) return std::make_error_code(std::errc::io_error);
            left = left.subspan(step.taken);
            complete = step.complete;
            if (const auto error = write_all(to, std::span{out}.first(step.made))) return error;
        }
        if (got == 0) return ::fsync(to) == 0 ? std::error_code{} : system_error();
    }
}

}  // namespace

bool can_pack() noexcept {
    try {
        return detail::make_zstd_packer() != nullptr;
    } catch (...) {  // no memory now
        return true;
    }
}

std::error_code pack_file(const std::string& path, mode_t mode, const std::atomic<bool>& stop) {
    const auto packer = detail::make_zstd_packer();
    if (packer == nullptr) return std::make_error_code(std::errc::not_supported);
    const auto packed = path + ".zst";
    const auto part = packed + ".part";
    const core::Descriptor from{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!from) return system_error();
    ::unlink(part.c_str());
    const core::Descriptor to{::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!to) return system_error();
    auto error = ::fchmod(to.get(), mode) == 0 ? pack(from.get(), to.get(), *packer, stop) : system_error();
    if (!error && ::rename(part.c_str(), packed.c_str()) != 0) error = system_error();
    if (error) {
        ::unlink(part.c_str());
        return error;
    }
    // The disk has the new name before the old one goes.
    const std::filesystem::path place{path};
    const auto folder = place.has_parent_path() ? place.parent_path() : std::filesystem::path{"."};
    const core::Descriptor names{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (names) ::fsync(names.get());
    return ::unlink(path.c_str()) == 0 ? std::error_code{} : system_error();
}

}  // namespace millpond::net
