#include <millpond/metrics/prometheus_text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace millpond::metrics {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name(std::string_view text, bool colons) {
    const auto fits = [&](char c) { return is_letter(c) || (colons && c == ':'); };
    return !text.empty() && fits(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return fits(c) || is_digit(c); });
}

/// In a HELP line a backslash and a line feed are escaped, in a label's value the quote as well.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
    for (const char c : text) {
        if (c == '\\') {
            out += "\\\\";
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '"' && quotes) {
            out += "\\\"";
        } else {
            out += c;
        }
    }
}

void append_number(std::string& out, double value) {
    if (std::isnan(value)) {
        out += "NaN";
    } else if (std::isinf(value)) {
        out += value > 0 ? "+Inf" : "-Inf";
    } else {
        std::array<char, 32> digits{};
        // Whole numbers up to 2^53, which a double holds exactly, without an exponent.
        const bool whole = std::trunc(value) == value && std::abs(value) <= 9'007'199'254'740'992.0;
        const auto end =
            whole ? std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::int64_t>(value))
                  : std::to_chars(digits.data(), digits.data() + digits.size(), value);
        out.append(digits.data(), end.ptr);
    }
}

double seconds(std::uint64_t nanos) { return static_cast<double>(nanos) / 1e9; }

struct Quantile {
    double percent;
    std::string_view label;
};

constexpr std::array<Quantile, 5> kQuantiles{{{50.0, "quantile=\"0.5\""},
                                              {90.0, "quantile=\"0.9\""},
                                              {99.0, "quantile=\"0.99\""},
                                              {99.9, "quantile=\"0.999\""},
                                              {100.0, "quantile=\"1\""}}};

struct Bound {
    std::uint64_t nanos;
    std::string_view label;
};

constexpr std::array<Bound, 24> kBounds{
    {{250, "le=\"2.5e-07\""},       {500, "le=\"5e-07\""},       {1'000, "le=\"1e-06\""},
     {2'500, "le=\"2.5e-06\""},     {5'000, "le=\"5e-06\""},     {10'000, "le=\"1e-05\""},
     {25'000, "le=\"2.5e-05\""},    {50'000, "le=\"5e-05\""},    {100'000, "le=\"0.0001\""},
     {250'000, "le=\"0.00025\""},   {500'000, "le=\"0.0005\""},  {1'000'000, "le=\"0.001\""},
     {2'500'000, "le=\"0.0025\""},  {5'000'000, "le=\"0.005\""}, {10'000'000, "le=\"0.01\""},
     {25'000'000, "le=\"0.025\""},  {50'000'000, "le=\"0.05\""}, {100'000'000, "le=\"0.1\""},
     {250'000'000, "le=\"0.25\""},  {500'000'000, "le=\"0.5\""}, {1'000'000'000, "le=\"1\""},
     {2'500'000'000, "le=\"2.5\""}, {5'000'000'000, "le=\"5\""}, {10'000'000'000, "le=\"10\""}}};

}  // namespace

void require_metric_name(const MetricName& name) {
    if (!is_name(name.name, true)) {
        throw std::invalid_argument("metric name '" + name.name + "': must be [a-zA-Z_:][a-zA-Z0-9_:]*");
    }
    for (auto label = name.labels.begin(); label != name.labels.end(); ++label) {
        const auto& text = label->first;
        if (!is_name(text, false) || text.starts_with("__") || text == "le" || text == "quantile") {
            throw std::invalid_argument("label '" + text + "' of metric '" + name.name +
                                        "': must be [a-zA-Z_][a-zA-Z0-9_]*, not le, quantile or with two leading _");
        }
        const bool twice =
            std::any_of(name.labels.begin(), label, [&](const auto& other) { return other.first == text; });
        if (twice) throw std::invalid_argument("label '" + text + "' of metric '" + name.name + "': is given twice");
    }
}

std::string labels_text(Labels labels) {
    std::ranges::sort(labels);
    std::string out;
    for (const auto& [name, value] : labels) {
        if (!out.empty()) out += ',';
        out += name;
        out += "=\"";
        append_escaped(out, value, true);
        out += '"';
    }
    return out;
}

void append_head(std::string& out, std::string_view name, std::string_view help, std::string_view type) {
    out.append("# HELP ").append(name).append(" ");
    append_escaped(out, help, false);
    out.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void append_sample(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels,
                   std::string_view extra, double value) {
    out.append(name).append(suffix);
    if (!labels.empty() || !extra.empty()) {
        out.append("{").append(labels);
        if (!labels.empty() && !extra.empty()) out += ',';
        out.append(extra).append("}");
    }
    out += ' ';
    append_number(out, value);
    out += '\n';
}

void append_latency(std::string& out, std::string_view name, std::string_view labels, const HistogramSnapshot& snapshot,
                    LatencyForm form) {
    const auto count = static_cast<double>(snapshot.count());
    if (form == LatencyForm::summary) {
        for (const auto& [percent, label] : kQuantiles) {
            const auto value = count == 0 ? std::nan("") : seconds(snapshot.percentile(percent));
            append_sample(out, name, "", labels, label, value);
        }
    } else {
        for (const auto& [nanos, label] : kBounds) {
            append_sample(out, name, "_bucket", labels, label, static_cast<double>(snapshot.count_up_to(nanos)));
        }
        append_sample(out, name, "_bucket", labels, "le=\"+Inf\"", count);
    }
    append_sample(out, name, "_sum", labels, "", seconds(snapshot.sum));
    append_sample(out, name, "_count", labels, "", count);
}

}  // namespace millpond::metrics
