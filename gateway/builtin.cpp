#include <span>

#include "gateway/feeds/bbo28/settings.hpp"
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

/// A new feed format is a folder below gateway/feeds and one line here.
std::span<const FeedFormat* const> builtin_feed_formats() noexcept {
    static const FeedFormat* const formats[] = {
        &quotes::Settings::format(),
        &bbo28::Settings::format(),
        &miax_tom::Settings::format(),
        &itch::Settings::format(),
    };
    return formats;
}

/// A new kind of sink is a folder below gateway/sinks and one line here.
std::span<const SinkKind* const> builtin_sink_kinds() noexcept {
    static const SinkKind* const kinds[] = {
        &journal::Settings::kind(), &kafka::Settings::kind(), &tcp::Settings::kind(),  &web::Settings::kind(),
        &csv::Settings::kind(),     &udp::Settings::kind(),   &mqtt::Settings::kind(),
    };
    return kinds;
}

}  // namespace millpond::gateway
