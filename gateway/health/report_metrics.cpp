#include "gateway/health/report_metrics.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

#include "gateway/health/findings.hpp"

namespace millpond::gateway::health {
namespace {

/// Prometheus' text format escapes backslash, quote and line feed in a label's value.
std::string label(std::string_view value) {
    std::string out;
    for (const char c : value) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out;
}

}  // namespace

std::string report_metrics(const State& state) {
    std::set<std::string> lines;  // a stage may have several findings of one thing; a series must be there once
    for (const auto& finding : findings(state, state.now)) {
        lines.insert(fmt::format("millpond_finding{{of=\"{}\",severity=\"{}\",stage=\"{}\"}} 1\n", label(finding.of),
                                 to_string(finding.severity), to_string(finding.stage)));
    }
    std::string out{
        "# HELP millpond_finding 1 while a finding of /api/health lasts; there is no series for what is well.\n"
        "# TYPE millpond_finding gauge\n"};
    for (const auto& line : lines) out += line;
    return out;
}

}  // namespace millpond::gateway::health
