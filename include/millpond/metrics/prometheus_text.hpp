#pragma once

#include <string>
#include <string_view>

#include <millpond/metrics/registry.hpp>

/// Lines of the Prometheus text format, version 0.0.4.
namespace millpond::metrics {

/// Throws std::invalid_argument with the error if a name or label is invalid.
void require_metric_name(const MetricName& name);

/// Formats labels as `a="1",b="x\"y"`, sorted by name, values escaped; empty if there are none.
[[nodiscard]] std::string labels_text(Labels labels);

/// Writes the lines # HELP and # TYPE.
void append_head(std::string& out, std::string_view name, std::string_view help, std::string_view type);

/// Writes the line `name_suffix{labels,extra} value`.
void append_sample(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels,
                   std::string_view extra, double value);

/// Writes all samples of a latency, in seconds.
void append_latency(std::string& out, std::string_view name, std::string_view labels, const HistogramSnapshot& snapshot,
                    LatencyForm form);

}  // namespace millpond::metrics
