#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include <millpond/feed/quotes_decoder.hpp>

#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/quotes/settings.hpp"

namespace millpond::gateway::quotes {
namespace {

constexpr settings::Key<Settings> kKeys[] = {
    settings::KeyOf<Settings>::integer<&Settings::from_channel, 0, std::numeric_limits<std::uint16_t>::max()>(
        "from_channel", "N", "quotes: channel of the datagrams, the sender's `channel`; the first one seen if unset."),
};

class Format final : public FeedFormatOf<Settings, feed::QuotesDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "quotes"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings& settings,
                                             const FeedHost& host) const override {
        return std::make_unique<Line>(feed, LineOptions{}, host.instruments,
                                      feed::QuotesDecoder::Options{.wire_channel = settings.from_channel});
    }
};

}  // namespace

const FeedFormat& Settings::format() noexcept {
    static const Format format;
    return format;
}

}  // namespace millpond::gateway::quotes
