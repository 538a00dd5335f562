#include "fixd/health/exposures.hpp"

#include <string>
#include <utility>

#include "service/listening.hpp"

namespace millpond::fixd {

std::vector<Finding> exposures(const EngineConfig& config) {
    std::vector<Finding> found;
    const auto add = [&](std::string of, std::string text) {
        if (text.empty()) return;
        found.push_back({.kind = Finding::Kind::exposed, .of = std::move(of), .text = std::move(text)});
    };
    add("metrics", service::exposure(config.metrics));
    for (const auto& web : config.webs) add("[[web]]", service::exposure(web.listen, web.token, web.tls));
    return found;
}

}  // namespace millpond::fixd
