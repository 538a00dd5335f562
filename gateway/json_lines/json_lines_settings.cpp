#include "gateway/json_lines/json_lines_settings.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "service/listening.hpp"

namespace millpond::gateway {

ClientAccess read_access(const JsonLinesSettings& settings) {
    return {.token = service::Token{settings.token}, .tls = service::server_tls(settings.tls)};
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
