#include <zstd.h>

#include <new>

#include "packer.hpp"

namespace millpond::net::detail {
namespace {

class ZstdPacker final : public Packer {
public:
    ZstdPacker() {
        if (!stream_) throw std::bad_alloc{};
        // So that a file whose bytes have changed on the disk is noticed.
        ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
    }

    Step pack(std::span<const std::byte> in, std::span<std::byte> out, bool last) override {
        ZSTD_inBuffer input{in.data(), in.size(), 0};
        ZSTD_outBuffer output{out.data(), out.size(), 0};
        const auto left = ZSTD_compressStream2(stream_.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
        const bool failed = ZSTD_isError(left) != 0;
        return {.taken = input.pos,
                .made = output.pos,
                .complete = !failed && input.pos == input.size && (!last || left == 0),
                .failed = failed};
    }

private:
    struct Free {
        void operator()(ZSTD_CCtx* stream) const noexcept { ZSTD_freeCCtx(stream); }
    };
    std::unique_ptr<ZSTD_CCtx, Free> stream_{ZSTD_createCCtx()};
};

}  // namespace

std::unique_ptr<Packer> make_zstd_packer() { return std::make_unique<ZstdPacker>(); }

}  // namespace millpond::net::detail
