#include "gateway/json_lines/json_lines_settings.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "service/config_error.hpp"
#include "service/listening.hpp"

namespace millpond::gateway {

ClientAccess read_access(const JsonLinesSettings& settings) {
    return {.token = service::Token{settings.token}, .tls = service::server_tls(settings.tls)};
}

void complete_replays(JsonLinesSettings& settings, const SinkContext& context) {
    settings.journal.clear();
    for (const auto& sink : context.sinks) {
        if (sink.kind().name() != "journal" || sink.basics().ring != settings.ring) continue;
        if (sink.origin.is_bad) return;  // it is reported already
        settings.journal = sink.outputs().front().folder;
        return;
    }
    if (!settings.max_replays) return;
    throw service::ConfigError(
        fmt::format("{}: max_replays: ring '{}' has no [[journal]] to replay", context.user, settings.ring));
}

std::vector<SinkOutput> json_lines_outputs(const JsonLinesSettings& settings) {
    // Port 0 is a different port for each listener.
    if (settings.listen.port() == 0) return {};
    return {{.name = settings.listen.to_string(),
             .claim = fmt::format("port {}", settings.listen.port()),
             .keys = {"listen"}}};
}

std::string json_lines_exposure(const JsonLinesSettings& settings) {
    return service::exposure(settings.listen, settings.token, settings.tls);
}

}  // namespace millpond::gateway
