#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/metrics/latency_histogram.hpp>

namespace millpond::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Name, help and labels of a metric. Metrics of the same name have different labels and the same help and kind.
struct MetricName {
    std::string name{};  ///< [a-zA-Z_:][a-zA-Z0-9_:]*; a counter's ends in _total, a latency's in _seconds.
    std::string help{};  ///< One sentence.
    Labels labels{};     ///< Names [a-zA-Z_][a-zA-Z0-9_]*, not `le` or `quantile`, not with two leading underscores.
};

/// How a LatencyHistogram is exposed.
enum class LatencyForm : std::uint8_t {
    summary,    ///< Quantiles 0.5, 0.9, 0.99, 0.999 and 1 (the maximum) since the start.
    histogram,  ///< Cumulative buckets from 250 ns to 10 s, which a server can aggregate over sources and time.
};

class Registration;

/// The metrics of a program, and their page in the text format of Prometheus.
///
/// Threads: any; hot threads write their Tally or LatencyHistogram and do not call the registry.
/// Memory:  the heap, off the hot path only.
/// Source:  Prometheus text-based exposition format, version 0.0.4.
class Registry {
public:
    /// Content-Type header of the page.
    static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

    Registry();

    /// These functions list a metric until the returned Registration is destroyed; arguments passed by reference must
    /// live as long. Throws std::invalid_argument: a name or label that Prometheus does not accept, another kind or
    /// help under the same name, the same name and labels twice.
    [[nodiscard]] Registration add_counter(MetricName name, const core::Tally& tally);
    [[nodiscard]] Registration add_gauge(MetricName name, const core::Tally& tally);
    /// value: called while the page is written, under the registry's lock; must not call the registry.
    [[nodiscard]] Registration add_gauge(MetricName name, std::function<double()> value);
    /// A counter that is read, such as the kernel's drop counter. value: as above.
    [[nodiscard]] Registration add_counter(MetricName name, std::function<double()> value);
    [[nodiscard]] Registration add_latency(MetricName name, const LatencyHistogram& histogram,
                                           LatencyForm form = LatencyForm::summary);

    /// The page: metrics ordered by name, then by labels.
    [[nodiscard]] std::string prometheus_text() const;

private:
    friend class Registration;
    class Metrics;
    std::shared_ptr<Metrics> metrics_;
};

/// Keeps a metric listed while it lives. May outlive the registry.
class Registration {
public:
    Registration() noexcept = default;
    Registration(Registration&& other) noexcept { swap(other); }
    Registration& operator=(Registration&& other) noexcept {
        Registration(std::move(other)).swap(*this);
        return *this;
    }
    /// Removes the metric. Afterwards no thread reads it.
    ~Registration();

private:
    friend class Registry;
    Registration(std::shared_ptr<Registry::Metrics> metrics, std::string name, std::string labels) noexcept
        : metrics_(std::move(metrics)), name_(std::move(name)), labels_(std::move(labels)) {}
    void swap(Registration& other) noexcept {
        metrics_.swap(other.metrics_);
        name_.swap(other.name_);
        labels_.swap(other.labels_);
    }

    std::shared_ptr<Registry::Metrics> metrics_;
    std::string name_;
    std::string labels_;
};

}  // namespace millpond::metrics
