#include <memory>
#include <string_view>

#include <millpond/feed/quotes_decoder.hpp>

#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/quotes/settings.hpp"

namespace millpond::gateway::quotes {
namespace {

class Format final : public FeedFormatOf<Settings, feed::QuotesDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "quotes"; }

protected:
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings&,
                                             const FeedHost& host) const override {
        return std::make_unique<Line>(feed, LineOptions{}, host.instruments, feed::QuotesDecoder::Options{});
    }
};

}  // namespace

const FeedFormat& Settings::format() noexcept {
    static const Format format;
    return format;
}

}  // namespace millpond::gateway::quotes
