#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <millpond/feed/iex_tops.hpp>

#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/iex/settings.hpp"
#include "gateway/feeds/rerequest_keys.hpp"

namespace millpond::gateway::iex {
namespace {

constexpr settings::Key<TopsSettings> kKeys[] = {
    settings::KeyOf<TopsSettings>::integer<&TopsSettings::iex_channel, 0, std::numeric_limits<std::uint32_t>::max()>(
        "iex_channel", "N", kChannelHelp),
    rerequest_key<TopsSettings>(),
    rerequest_tcp_key<TopsSettings>(),
    rerequest_ms_key<TopsSettings>(),
};

class TopsFormat final : public FeedFormatOf<TopsSettings, feed::IexTopsDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "iex-tops"; }

protected:
    [[nodiscard]] std::span<const settings::Key<TopsSettings>> table() const override { return kKeys; }
    void complete(TopsSettings& settings, FeedConfig&, const std::string& user) const override {
        settings.rerequest_start = false;  // a quote needs no earlier message
        check_rerequest(settings, true, user);
    }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const TopsSettings& settings,
                                             const FeedHost& host) const override {
        feed::IexTopsDecoder::Options options;
        set_venue(options, feed);
        options.iex_channel = settings.iex_channel;
        return std::make_unique<OpenFeed>(
            feed, FeedOptions{.rerequest = static_cast<const RerequestSettings&>(settings)}, host.instruments, options);
    }
};

}  // namespace

const FeedFormat& TopsSettings::format() noexcept {
    static const TopsFormat format;
    return format;
}

}  // namespace millpond::gateway::iex
