#include <zstd.h>

#include <new>

#include "expander.hpp"

namespace millpond::files::detail {
namespace {

class ZstdExpander final : public Expander {
public:
    ZstdExpander() {
        if (!stream_) throw std::bad_alloc{};
    }

    Step expand(std::span<const std::byte> in, std::span<std::byte> out) override {
        ZSTD_inBuffer input{in.data(), in.size(), 0};
        ZSTD_outBuffer output{out.data(), out.size(), 0};
        const auto result = ZSTD_decompressStream(stream_.get(), &output, &input);
        Step step{.consumed = input.pos, .made = output.pos};
        if (ZSTD_isError(result) != 0) {
            step.error = ZSTD_getErrorName(result);
        } else {
            complete_ = result == 0;
        }
        return step;
    }
    bool complete() const noexcept override { return complete_; }

private:
    struct Free {
        void operator()(ZSTD_DStream* stream) const noexcept { ZSTD_freeDStream(stream); }
    };
    std::unique_ptr<ZSTD_DStream, Free> stream_{ZSTD_createDStream()};
    bool complete_{true};
};

}  // namespace

std::unique_ptr<Expander> make_zstd_expander() { return std::make_unique<ZstdExpander>(); }

}  // namespace millpond::files::detail
