#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <ranges>

#include "expander.hpp"

namespace millpond::net::detail {
namespace {

class GzipExpander final : public Expander {
public:
    GzipExpander() {
        constexpr int kGzipOnly = 16;
        if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc{};
    }
    GzipExpander(const GzipExpander&) = delete;
    GzipExpander& operator=(const GzipExpander&) = delete;
    ~GzipExpander() override { inflateEnd(&stream_); }

    Step expand(std::span<const std::byte> in, std::span<std::byte> out) override {
        if (between_members_ && seen_member_) {
            // Tape writers pad a file with zeros behind its last member.
            const auto zeros =
                std::ranges::find_if(in, [](std::byte each) { return each != std::byte{0}; }) - in.begin();
            if (zeros != 0) return {.taken = static_cast<std::size_t>(zeros)};
        }
        constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
        const auto in_bytes = std::min(in.size(), kMost);
        const auto out_bytes = std::min(out.size(), kMost);
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib only reads it
        stream_.avail_in = static_cast<uInt>(in_bytes);
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out_bytes);
        const auto result = inflate(&stream_, Z_NO_FLUSH);
        Step step{.taken = in_bytes - stream_.avail_in, .made = out_bytes - stream_.avail_out};
        between_members_ = result == Z_STREAM_END;
        if (result == Z_STREAM_END) {
            seen_member_ = true;
            inflateReset(&stream_);
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            step.error = stream_.msg != nullptr ? stream_.msg : zError(result);
        }
        return step;
    }
    bool complete() const noexcept override { return between_members_; }

private:
    z_stream stream_{};
    bool between_members_{true};
    bool seen_member_{false};
};

}  // namespace

std::unique_ptr<Expander> make_gzip_expander() { return std::make_unique<GzipExpander>(); }

}  // namespace millpond::net::detail
