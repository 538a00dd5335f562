#include "gateway/settings/needs_restart.hpp"

#include <string_view>

#include "service/reloader.hpp"

namespace millpond::gateway {

std::vector<std::string> what_needs_a_restart(const Config& now, const Config& next) {
    std::vector<std::string> changed;
    const auto compare = [&](bool same, std::string_view what) { service::needs_restart(same, what, changed); };
    compare(next.rings == now.rings, "[[ring]]");
    compare(next.feeds == now.feeds, "[[feed]]");
    compare(next.metrics == now.metrics, "metrics");
    compare(next.admin_token == now.admin_token, "admin_token");
    compare(next.log_level == now.log_level && next.log_format == now.log_format, "log_level or log_format");
    compare(next.capture == now.capture && next.capture_rotate_bytes == now.capture_rotate_bytes &&
                next.capture_keep == now.capture_keep && next.capture_buffer == now.capture_buffer,
            "capture");
    compare(next.file_mode == now.file_mode, "file_mode");
    return changed;
}

}  // namespace millpond::gateway
