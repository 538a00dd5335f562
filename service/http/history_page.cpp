#include "service/http/history_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/json_string.hpp>

#include "service/log_words.hpp"

namespace millpond::http {
namespace {

using core::json_string;
using service::EventFilter;
using service::EventRecord;
using service::History;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kDay = std::int64_t{24} * 3'600;
constexpr std::int64_t kUsualSpan = 900;
constexpr std::size_t kMaxSamples = 3'600;
constexpr std::size_t kMaxValues = 300'000;  // of all series, which a thread with other work formats
constexpr std::size_t kUsualSamples = 1'000;
constexpr std::array<std::int64_t, 10> kUsualSteps{1, 2, 5, 10, 30, 60, 120, 300, 600, 1'800};
constexpr std::size_t kMaxTime = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> time_of(const Request& request, std::string_view key) {
    const auto text = request.parameter(key);
    if (!text || text->empty()) return std::nullopt;
    return static_cast<std::int64_t>(request.number(key, 0, 0, kMaxTime));
}

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

/// Number of samples from `from` to `to`, each `step` seconds long, which begins at a multiple of it.
std::size_t samples_between(std::int64_t from, std::int64_t to, std::int64_t step) {
    return static_cast<std::size_t>((round_up(to, step) - from / step * step) / step);
}

std::int64_t usual_step(std::int64_t from, std::int64_t to, std::int64_t now, std::size_t series) {
    const auto most = std::min(kUsualSamples, kMaxValues / std::max<std::size_t>(series, 1));
    for (const auto step : kUsualSteps) {
        const bool is_kept = step >= History::kMinuteSeconds || from >= now - History::kSeconds;
        if (is_kept && samples_between(from, to, step) <= most) return step;
    }
    return kUsualSteps.back();
}

History::Range range_of(const Request& request, std::int64_t now, std::int64_t newest, std::size_t series) {
    const auto asked_from = time_of(request, "from");
    const auto asked_to = time_of(request, "to");
    const auto end = asked_to ? std::min(*asked_to / kSecondNs + (*asked_to % kSecondNs != 0 ? 1 : 0), now + 1) : now;
    const auto begin = std::max(asked_from ? *asked_from / kSecondNs : end - kUsualSpan, now - kDay);
    if (asked_from && asked_to && *asked_to < *asked_from) throw BadRequest("to is earlier than from");
    const auto step_given = request.number("step", 0, 1, static_cast<std::size_t>(kDay));
    const auto step = step_given != 0 ? static_cast<std::int64_t>(step_given) : usual_step(begin, end, now, series);
    if (step > History::kMinuteSeconds && step % History::kMinuteSeconds != 0)
        throw BadRequest("step needs less than 60 seconds, or a multiple of 60");
    // The second in progress has no sample yet.
    const auto last = std::min(end, newest + 1);
    const auto from = begin / step * step;
    const auto samples = last > begin ? samples_between(begin, last, step) : 0;
    if (samples > kMaxSamples)
        throw BadRequest(fmt::format("more than {} samples: give a longer step or a shorter range", kMaxSamples));
    return {.from = from, .step = step, .samples = samples};
}

void append_number(float value, std::string& to) {
    constexpr float kLarge = 100;  // needs no more than one decimal
    if (!std::isfinite(value)) {
        to += "null";
    } else if (value == std::floor(value)) {
        fmt::format_to(std::back_inserter(to), "{:.0f}", value);
    } else if (std::abs(value) < kLarge) {
        fmt::format_to(std::back_inserter(to), "{:.4g}", value);
    } else {
        fmt::format_to(std::back_inserter(to), "{:.1f}", value);
    }
}

bool is_source(const History::View& view, std::string_view source) {
    if (!view.of.empty() && source == fmt::format("{} '{}'", view.kind->parent, view.of)) return true;
    return view.of.empty() && source == fmt::format("{} '{}'", view.kind->name, view.name);
}

/// Forms and URLSearchParams encode a space as '+', which names may contain too.
std::string with_spaces(std::string source) {
    std::ranges::replace(source, '+', ' ');
    return source;
}

/// Number of series of a source and its lines, or of all sources if it is empty; 0 if there is no such source.
std::size_t series_of(const History& history, const std::string& source) {
    std::size_t series = 0;
    const auto count = [&](const History::View& names) {
        if (source.empty() || is_source(names, source)) series += names.kind->series.size();
        return false;
    };
    history.visit({}, count, [](const History::View&) {});
    return series;
}

/// Formats a time as 2020-01-30T14:30:00.123456789Z.
std::string time_text(std::int64_t utc_ns) {
    auto seconds = static_cast<std::time_t>(utc_ns / kSecondNs);
    auto nanos = utc_ns % kSecondNs;
    if (nanos < 0) {
        --seconds;
        nanos += kSecondNs;
    }
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, nanos);
}

EventFilter filter_of(const Request& request, const service::EventLog& events, std::size_t usual_limit,
                      std::optional<std::string>& source) {
    EventFilter filter;
    source = request.parameter("source");
    if (source && events.select({.source = *source, .limit = 1}).empty()) source = with_spaces(*source);
    if (source && !source->empty()) filter.source = *source;
    filter.from = time_of(request, "from");
    filter.to = time_of(request, "to");
    if (const auto after = request.parameter("after"); after && !after->empty())
        filter.after = request.number("after", 0);
    filter.limit = request.number("limit", usual_limit, 1, service::EventLog::kCapacity);
    const auto words = request.parameter("kind").value_or("");
    for (std::string_view rest{words}; !rest.empty();) {
        const auto end = std::min(rest.find(','), rest.size());
        const auto word = rest.substr(0, end);
        const auto known = std::ranges::find(service::kEventKinds, word);
        if (known == service::kEventKinds.end())
            throw BadRequest(fmt::format("kind needs one of {}", fmt::join(service::kEventKinds, ", ")));
        filter.kinds.push_back(static_cast<service::EventKind>(known - service::kEventKinds.begin()));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return filter;
}

std::string_view severity_text(service::Severity severity) {
    return service::kSeverities[static_cast<std::size_t>(severity)].first;
}

std::string json_of(const EventRecord& event) {
    const auto or_null = [](bool is_known, auto value) { return is_known ? fmt::format("{}", value) : "null"; };
    return fmt::format(
        R"({{"number":{},"time":{},"kind":"{}","severity":"{}","source":{},"stage":{},"ended":{},"since":{},"first":{},)"
        R"("last":{},"count":{},"text":{}}})",
        event.number, event.time, to_string(event.kind), severity_text(event.severity), json_string(event.source()),
        event.stage().empty() ? "null" : json_string(event.stage()), event.ended,
        or_null(event.since != 0, event.since), or_null(event.has_range, event.first),
        or_null(event.has_range, event.last), event.count, json_string(event.text()));
}

/// Quotes a field of CSV. A text that a spreadsheet could take for a formula begins with an apostrophe.
/// Source: RFC 4180, section 2; OWASP, CSV Injection.
std::string csv_text(std::string_view text) {
    std::string field{"\""};
    if (!text.empty() && std::string_view{"=+-@\t\r\n"}.find(text.front()) != std::string_view::npos) field += '\'';
    for (const char c : text) {
        if (c == '"') field += '"';
        field += c;
    }
    return field += '"';
}

std::string csv_of(const EventRecord& event) {
    const auto if_known = [&](std::uint64_t value) { return event.has_range ? fmt::format("{}", value) : ""; };
    return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\r\n", event.number, time_text(event.time),
                       to_string(event.kind), severity_text(event.severity), csv_text(event.source()),
                       csv_text(event.stage()), event.ended, event.since == 0 ? "" : time_text(event.since),
                       if_known(event.first), if_known(event.last), event.count, csv_text(event.text()));
}

/// Makes the body of /api/events or /api/events.csv.
class EventParts {
public:
    using Format = std::string (*)(const EventRecord& event, bool is_first);

    EventParts(std::vector<EventRecord> events, Format format, std::string_view end)
        : events_(std::move(events)), format_(format), end_(end) {}

    bool operator()(std::string& body) {
        constexpr std::size_t kEventsOfPart = 200;
        const auto last = std::min(next_ + kEventsOfPart, events_.size());
        for (; next_ < last; ++next_) body += format_(events_[next_], next_ == 0);
        if (next_ < events_.size()) return true;
        body += end_;
        return false;
    }

private:
    std::vector<EventRecord> events_;
    Format format_;
    std::string_view end_;
    std::size_t next_{0};
};

/// Makes the body of /api/history.
class HistoryParts {
public:
    /// source: empty: all sources.
    HistoryParts(const History& history, const History::Range& range, const std::string& source)
        : history_(&history), range_(range) {
        const auto note = [&](const History::View& names) {
            if (source.empty() || is_source(names, source)) ids_.push_back(names.id);
            return false;
        };
        history.visit({}, note, [](const History::View&) {});
    }

    bool operator()(std::string& body) {
        for (std::size_t values = 0; values < kValuesOfPart; values += range_.samples + 1) {
            if (series_ == view_.series.size() && !read_next(body)) {
                body += "]}\n";
                return false;
            }
            append_series(body);
        }
        return true;
    }

private:
    static constexpr std::size_t kValuesOfPart = 2'000;

    /// Reads the next source that the history still has, and appends its names. Returns false after the last one.
    bool read_next(std::string& body) {
        view_ = {};
        series_ = 0;
        while (view_.kind == nullptr && next_ < ids_.size()) {
            const auto id = ids_[next_++];
            const auto is_wanted = [id](const History::View& names) { return names.id == id; };
            history_->visit(range_, is_wanted, [&](const History::View& view) { view_ = view; });
        }
        if (view_.kind == nullptr) return false;
        fmt::format_to(std::back_inserter(body), R"({}{{"kind":"{}","name":{},"of":{},"series":{{)", separator_,
                       view_.kind->name, json_string(view_.name), view_.of.empty() ? "null" : json_string(view_.of));
        separator_ = ",";
        return true;
    }
    void append_series(std::string& body) {
        const auto& values = view_.series[series_];
        fmt::format_to(std::back_inserter(body), R"({}"{}":[)", series_ == 0 ? "" : ",",
                       view_.kind->series[series_].name);
        const char* separator = "";
        for (const auto value : values) {
            body += separator;
            append_number(value, body);
            separator = ",";
        }
        body += ++series_ == view_.series.size() ? "]}}" : "]";
    }

    const History* history_;
    History::Range range_;
    std::vector<std::uint64_t> ids_;
    std::size_t next_{0};    // of ids_
    History::View view_{};   // of the source before it
    std::size_t series_{0};  // next series of it
    std::string_view separator_{};
};

}  // namespace

Page HistoryPage::history_json(const Request& request, std::int64_t now_ns) const {
    auto source = request.parameter("source").value_or("");
    auto series = series_of(history_, source);
    if (series == 0) {
        source = with_spaces(source);
        series = series_of(history_, source);
    }
    if (series == 0 && !source.empty())
        return {.type = "text/plain", .body = fmt::format("there is no {}\n", source), .status = 404};
    const auto range = range_of(request, now_ns / kSecondNs, history_.newest(), series);
    if (series * range.samples > kMaxValues) {
        throw BadRequest(fmt::format("{} samples of {} series: give a source, a longer step or a shorter range",
                                     range.samples, series));
    }
    return {.type = "application/json",
            .body = fmt::format(R"({{"now":{},"from":{},"step":{},"samples":{},"sources":[)", now_ns,
                                range.from * kSecondNs, range.step, range.samples),
            .more = HistoryParts{history_, range, source}};
}

Page HistoryPage::events_json(const Request& request, std::int64_t now_ns) const {
    constexpr std::size_t kUsualLimit = 1'000;
    std::optional<std::string> source;
    const auto filter = filter_of(request, events_, kUsualLimit, source);
    // The numbers are read first: an event that is logged in between is not skipped by a client that asks for later
    // ones.
    const auto numbers = events_.numbers();
    auto events = events_.select(filter);
    const auto or_null = [&](std::uint64_t number) {
        return numbers.newest == 0 ? std::string{"null"} : fmt::format("{}", number);
    };
    return {
        .type = "application/json",
        .body = fmt::format(R"({{"now":{},"log":{},"oldest":{},"newest":{},"events":[)", now_ns, events_.id(),
                            or_null(numbers.oldest), or_null(numbers.newest)),
        .more = EventParts{
            std::move(events),
            [](const EventRecord& event, bool is_first) { return (is_first ? "" : ",") + json_of(event); }, "]}\n"}};
}

Page HistoryPage::events_csv(const Request& request) const {
    std::optional<std::string> source;
    const auto filter = filter_of(request, events_, service::EventLog::kCapacity, source);
    return {
        .type = "text/csv",
        .body = "number,time,kind,severity,source,stage,ended,since,first,last,count,text\r\n",
        .more = EventParts{events_.select(filter), [](const EventRecord& event, bool) { return csv_of(event); }, ""}};
}

Page HistoryPage::page(const Request& request, std::int64_t now_ns) const {
    if (request.path == "/api/history") return history_json(request, now_ns);
    if (request.path == "/api/events") return events_json(request, now_ns);
    if (request.path == "/api/events.csv") return events_csv(request);
    return {};
}

}  // namespace millpond::http
