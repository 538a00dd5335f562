#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <ranges>

#include "expander.hpp"

namespace millpond::files::detail {
namespace {

const char* text_of(int result) noexcept {
    switch (result) {
        case ISAL_INVALID_BLOCK: return "invalid block";
        case ISAL_INVALID_SYMBOL: return "invalid symbol";
        case ISAL_INVALID_LOOKBACK: return "invalid distance too far back";
        case ISAL_INVALID_WRAPPER: return "incorrect header check";
        case ISAL_UNSUPPORTED_METHOD: return "unknown compression method";
        case ISAL_INCORRECT_CHECKSUM: return "incorrect data check";
        default: return "damaged";
    }
}

class GzipExpander final : public Expander {
public:
    GzipExpander() {
        isal_inflate_init(&state_);
        state_.crc_flag = ISAL_GZIP;
    }

    Step expand(std::span<const std::byte> in, std::span<std::byte> out) override {
        if (between_members_ && seen_member_) {
            // Tape writers pad a file with zeros after its last member.
            const auto zeros =
                std::ranges::find_if(in, [](std::byte each) { return each != std::byte{0}; }) - in.begin();
            if (zeros != 0) return {.consumed = static_cast<std::size_t>(zeros)};
        }
        constexpr std::size_t kMax = std::numeric_limits<std::uint32_t>::max();
        const auto in_bytes = std::min(in.size(), kMax);
        const auto out_bytes = std::min(out.size(), kMax);
        state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(in.data()));  // which is only read
        state_.avail_in = static_cast<std::uint32_t>(in_bytes);
        state_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
        state_.avail_out = static_cast<std::uint32_t>(out_bytes);
        const auto result = isal_inflate(&state_);
        Step step{.consumed = in_bytes - state_.avail_in, .made = out_bytes - state_.avail_out};
        between_members_ = state_.block_state == ISAL_BLOCK_FINISH;
        if (result < 0) {
            step.error = text_of(result);
        } else if (between_members_) {
            seen_member_ = true;
            isal_inflate_reset(&state_);
        }
        return step;
    }
    bool complete() const noexcept override { return between_members_; }

private:
    inflate_state state_{};
    bool between_members_{true};
    bool seen_member_{false};
};

}  // namespace

std::unique_ptr<Expander> make_gzip_expander() { return std::make_unique<GzipExpander>(); }

}  // namespace millpond::files::detail
