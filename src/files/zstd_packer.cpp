#include "zstd_packer.hpp"

#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <millpond/core/file_size_limit.hpp>
#include <millpond/files/pack_file.hpp>

namespace millpond::files {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{128} * 1024;

struct Free {
    void operator()(ZSTD_CCtx* stream) const noexcept { ZSTD_freeCCtx(stream); }
};

std::error_code last_error() { return {errno, std::generic_category()}; }

std::error_code write_all(int file, std::span<const std::byte> bytes) {
    const core::FileSizeLimit limit;
    while (!bytes.empty()) {
        const auto written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return last_error();
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

}  // namespace

bool can_pack() noexcept { return true; }

std::error_code detail::pack_zstd(int from, int to, const std::atomic<bool>& stop) {
    const std::unique_ptr<ZSTD_CCtx, Free> stream{ZSTD_createCCtx()};
    if (!stream) return std::make_error_code(std::errc::not_enough_memory);
    // With a checksum, damage of the file on the disk is detected.
    ZSTD_CCtx_setParameter(stream.get(), ZSTD_c_checksumFlag, 1);
    std::vector<std::byte> in(kPieceBytes);
    std::vector<std::byte> out(kPieceBytes);
    for (;;) {
        if (stop.load(std::memory_order_relaxed)) return std::make_error_code(std::errc::operation_canceled);
        const auto got = ::read(from, in.data(), in.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return last_error();
        const bool at_end = got == 0;
        ZSTD_inBuffer input{in.data(), static_cast<std::size_t>(got), 0};
        for (bool complete = false; !complete;) {
            ZSTD_outBuffer output{out.data(), out.size(), 0};
            const auto left =
                ZSTD_compressStream2(stream.get(), &output, &input, at_end ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left) != 0) return std::make_error_code(std::errc::io_error);
            complete = at_end ? left == 0 : input.pos == input.size;
            if (const auto error = write_all(to, std::span{out}.first(output.pos))) return error;
        }
        if (at_end) return ::fsync(to) == 0 ? std::error_code{} : last_error();
    }
}

}  // namespace millpond::files
