#include "apps/millpond/doctor/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/millpond/doctor/machine.hpp"
#include "gateway/receive/pipeline.hpp"

namespace millpond::app::doctor {
namespace {

Needs needs_of(const gateway::Config& config) {
    Needs needs;
    for (const auto& ring : config.rings) {
        if (ring.pin) needs.pinned.insert(*ring.pin);
        needs.realtime |= ring.realtime != 0;
        needs.lock |= ring.lock;
        if (ring.huge_pages != gateway::Wanted::none) needs.huge_bytes += gateway::ring_bytes(ring, config);
    }
    for (const auto& feed : config.feeds) needs.receive_buffer = std::max(needs.receive_buffer, feed.receive_buffer);
    return needs;
}

}  // namespace

std::vector<Finding> check_machine_for(const gateway::Config& config) {
    const auto needs = needs_of(config);
    return check_machine("/", needs, granted_receive_buffer(needs.receive_buffer));
}

std::string to_text(const std::vector<Finding>& findings) {
    std::string text;
    for (const auto& one : findings) {
        text += fmt::format("{:<7} {:<15} {}\n", to_string(one.level), one.check, one.what);
        if (!one.fix.empty()) text += fmt::format("{:<7} {:<15} fix: {}\n", "", "", one.fix);
    }
    return text;
}

}  // namespace millpond::app::doctor
