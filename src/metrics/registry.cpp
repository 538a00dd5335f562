#include <millpond/metrics/registry.hpp>

#include <map>
#include <mutex>
#include <stdexcept>
#include <variant>

#include <millpond/metrics/prometheus_text.hpp>

namespace millpond::metrics {
namespace {

struct Latency {
    const LatencyHistogram* histogram;
    LatencyForm form;
};

using Value = std::variant<const core::Tally*, std::function<double()>, Latency>;

struct Family {
    std::string help;
    std::string_view type;
    std::map<std::string, Value> values;  // Keyed by the text of their labels.
};

std::string_view type_of(LatencyForm form) { return form == LatencyForm::summary ? "summary" : "histogram"; }

void require_ending(const MetricName& name, std::string_view ending, std::string_view kind) {
    if (!name.name.ends_with(ending)) {
        throw std::invalid_argument("metric name '" + name.name + "': " + std::string(kind) + " ends in " +
                                    std::string(ending));
    }
}

}  // namespace

class Registry::Metrics {
public:
    /// The text of the labels, under which the value can be removed.
    std::string add(const MetricName& name, std::string_view type, const Value& value) {
        require_metric_name(name);
        auto labels = labels_text(name.labels);
        const std::lock_guard lock(mutex_);
        const auto [place, fresh] = families_.try_emplace(name.name, Family{name.help, type, {}});
        auto& family = place->second;
        if (!fresh && (family.type != type || family.help != name.help)) {
            throw std::invalid_argument("metric '" + name.name + "': is already a " + std::string(family.type) +
                                        " with the help '" + family.help + "'");
        }
        if (!family.values.try_emplace(labels, value).second) {
            throw std::invalid_argument("metric '" + name.name + "{" + labels + "}': is already registered");
        }
        return labels;
    }

    void remove(const std::string& name, const std::string& labels) {
        const std::lock_guard lock(mutex_);
        const auto place = families_.find(name);
        place->second.values.erase(labels);
        if (place->second.values.empty()) families_.erase(place);
    }

    [[nodiscard]] std::string prometheus_text() const {
        const std::lock_guard lock(mutex_);
        std::string out;
        const auto snapshot = std::make_unique<HistogramSnapshot>();
        for (const auto& [name, family] : families_) {
            append_head(out, name, family.help, family.type);
            for (const auto& [labels, value] : family.values) {
                if (const auto* tally = std::get_if<const core::Tally*>(&value)) {
                    append_sample(out, name, "", labels, "", static_cast<double>((*tally)->read()));
                } else if (const auto* function = std::get_if<std::function<double()>>(&value)) {
                    append_sample(out, name, "", labels, "", (*function)());
                } else {
                    const auto& latency = std::get<Latency>(value);
                    latency.histogram->read(*snapshot);
                    append_latency(out, name, labels, *snapshot, latency.form);
                }
            }
        }
        return out;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, Family> families_;
};

Registry::Registry() : metrics_(std::make_shared<Metrics>()) {}

Registration Registry::add_counter(MetricName name, const core::Tally& tally) {
    require_ending(name, "_total", "a counter's");
    auto labels = metrics_->add(name, "counter", &tally);
    return {metrics_, std::move(name.name), std::move(labels)};
}

Registration Registry::add_counter(MetricName name, std::function<double()> value) {
    require_ending(name, "_total", "a counter's");
    auto labels = metrics_->add(name, "counter", std::move(value));
    return {metrics_, std::move(name.name), std::move(labels)};
}

Registration Registry::add_gauge(MetricName name, const core::Tally& tally) {
    auto labels = metrics_->add(name, "gauge", &tally);
    return {metrics_, std::move(name.name), std::move(labels)};
}

Registration Registry::add_gauge(MetricName name, std::function<double()> value) {
    auto labels = metrics_->add(name, "gauge", std::move(value));
    return {metrics_, std::move(name.name), std::move(labels)};
}

Registration Registry::add_latency(MetricName name, const LatencyHistogram& histogram, LatencyForm form) {
    require_ending(name, "_seconds", "a latency's");
    auto labels = metrics_->add(name, type_of(form), Latency{&histogram, form});
    return {metrics_, std::move(name.name), std::move(labels)};
}

std::string Registry::prometheus_text() const { return metrics_->prometheus_text(); }

Registration::~Registration() {
    if (metrics_ != nullptr) metrics_->remove(name_, labels_);
}

}  // namespace millpond::metrics
