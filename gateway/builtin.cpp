#include <span>

#include "gateway/settings/config.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/journal/settings.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/udp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"

namespace millpond::gateway {

/// A new kind of sink is a folder below gateway/sinks and one line here.
std::span<const SinkKind* const> builtin_sink_kinds() noexcept {
    static const SinkKind* const kinds[] = {
        &journal::Settings::kind(), &kafka::Settings::kind(), &tcp::Settings::kind(),  &web::Settings::kind(),
        &csv::Settings::kind(),     &udp::Settings::kind(),   &mqtt::Settings::kind(),
    };
    return kinds;
}

}  // namespace millpond::gateway
