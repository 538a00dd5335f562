#include "gateway/health/report_metrics.hpp"

#include <set>
#include <string>
#include <string_view>

#include <millpond/metrics/prometheus_text.hpp>

#include "gateway/health/findings.hpp"

namespace millpond::gateway::health {

std::string report_metrics(const State& state) {
    std::set<std::string> series;  // a stage may have several findings of one thing; a series must be there once
    for (const auto& finding : findings(state, state.now)) {
        series.insert(metrics::labels_text({{"of", finding.of},
                                            {"severity", std::string{to_string(finding.severity)}},
                                            {"stage", std::string{to_string(finding.stage)}}}));
    }
    constexpr std::string_view kName = "millpond_finding";
    std::string page;
    metrics::append_head(page, kName, "1 while a finding of /api/health is active; inactive findings have no series.",
                         "gauge");
    for (const auto& labels : series) metrics::append_sample(page, kName, {}, labels, {}, 1);
    return page;
}

}  // namespace millpond::gateway::health
