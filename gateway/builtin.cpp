#include <span>

#include "gateway/feeds/bbo28/settings.hpp"
#include "gateway/feeds/iex/settings.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "gateway/feeds/miax_tom/settings.hpp"
#include "gateway/feeds/quotes/settings.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/journal/settings.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/udp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"

namespace millpond::gateway {

/// Lists the feed formats of this build. To add one, create a folder below gateway/feeds and add a line here.
std::span<const FeedFormat* const> builtin_feed_formats() noexcept {
    static const FeedFormat* const formats[] = {
        &quotes::Settings::format(),      &bbo28::Settings::format(),   &miax_tom::Settings::format(),
        &itch::Settings::format(),        &iex::TopsSettings::format(), &iex::DeepSettings::format(),
        &iex::DeepPlusSettings::format(),
    };
    return formats;
}

/// Lists the sink kinds of this build. To add one, create a folder below gateway/sinks and add a line here.
std::span<const SinkKind* const> builtin_sink_kinds() noexcept {
    static const SinkKind* const kinds[] = {
        &journal::Settings::kind(), &kafka::Settings::kind(), &tcp::Settings::kind(),  &web::Settings::kind(),
        &csv::Settings::kind(),     &udp::Settings::kind(),   &mqtt::Settings::kind(),
    };
    return kinds;
}

}  // namespace millpond::gateway
