#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <millpond/feed/quotes_decoder.hpp>

#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/quotes/settings.hpp"
#include "service/config_error.hpp"

namespace millpond::gateway::quotes {
namespace {

bool is_full(const settings::Value& v) {
    try {
        return v.text() == "full";
    } catch (const service::ConfigError&) {  // a number
        return false;
    }
}

void assign_depth(Settings& s, const settings::Value& v) {
    constexpr auto kMax = feed::quotes_layout::kMaxDepth;
    if (is_full(v)) {
        v.fail(fmt::format("an integer from 0 to {}, because `quotes` datagrams have the best levels only", kMax),
               "'full'");
    }
    s.depth = static_cast<std::uint32_t>(v.integer(0, kMax));
}

constexpr settings::Key<Settings> kKeys[] = {
    settings::KeyOf<Settings>::integer<&Settings::from_channel, 0, std::numeric_limits<std::uint16_t>::max()>(
        "from_channel", "N", "quotes: channel of the datagrams, the sender's `channel`; the first one seen if unset."),
    {"depth", "N|full", kDepthHelp, assign_depth, [](const Settings& s) { return std::to_string(s.depth); }},
};

class Format final : public FeedFormatOf<Settings, feed::QuotesDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "quotes"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    [[nodiscard]] market::ChannelDepth depth(const Settings& settings) const override {
        return {.depth = settings.depth, .orders = false};
    }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings& settings,
                                             const FeedHost& host) const override {
        return std::make_unique<OpenFeed>(
            feed, FeedOptions{}, host.instruments,
            feed::QuotesDecoder::Options{.wire_channel = settings.from_channel, .depth = settings.depth});
    }
};

}  // namespace

const FeedFormat& Settings::format() noexcept {
    static const Format format;
    return format;
}

}  // namespace millpond::gateway::quotes
