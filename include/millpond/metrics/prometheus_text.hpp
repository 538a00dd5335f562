#pragma once

#include <string>
#include <string_view>

#include <millpond/metrics/registry.hpp>

/// The lines of the Prometheus text format, version 0.0.4.
namespace millpond::metrics {

/// Throws std::invalid_argument that describes the error.
void require_metric_name(const MetricName& name);

/// `a="1",b="x\"y"`, sorted by name, values escaped; empty when there are none.
[[nodiscard]] std::string labels_text(Labels labels);

/// # HELP and # TYPE.
void append_head(std::string& out, std::string_view name, std::string_view help, std::string_view type);

/// name_suffix{labels,extra} value
void append_sample(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels,
                   std::string_view extra, double value);

/// All samples of a latency, in seconds.
void append_latency(std::string& out, std::string_view name, std::string_view labels, const HistogramSnapshot& snapshot,
                    LatencyForm form);

}  // namespace millpond::metrics
