#include "gateway/health/report_metrics.hpp"

#include <set>
#include <string>
#include <string_view>

#include <millpond/metrics/prometheus_text.hpp>

#include "gateway/health/findings.hpp"

namespace millpond::gateway::health {

std::string report_metrics(const State& state) {
    std::string page;
    constexpr std::string_view kLag = "millpond_sink_lag_seconds";
    metrics::append_head(page, kLag, "Age of the oldest event that waits in a sink; 0 if none waits.", "gauge");
    for (const auto& sink : state.sinks) {
        metrics::append_sample(page, kLag, {}, metrics::labels_text({{"sink", sink.name}}), {},
                               static_cast<double>(sink.lag_ns) / 1e9);
    }
    std::set<std::string> series;  // several findings may have the same labels; a series must occur once
    for (const auto& finding : findings(state, state.now)) {
        series.insert(metrics::labels_text({{"of", finding.of},
                                            {"severity", std::string{to_string(finding.severity)}},
                                            {"stage", std::string{to_string(finding.stage)}}}));
    }
    constexpr std::string_view kName = "millpond_finding";
    metrics::append_head(page, kName, "1 while a finding of /api/health is active; inactive findings have no series.",
                         "gauge");
    for (const auto& labels : series) metrics::append_sample(page, kName, {}, labels, {}, 1);
    return page;
}

}  // namespace millpond::gateway::health
