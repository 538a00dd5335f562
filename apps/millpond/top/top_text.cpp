#include "apps/millpond/top/top_text.hpp"

#include <fmt/format.h>
#include <json/value.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "apps/millpond/top/text_table.hpp"
#include "service/json.hpp"

namespace millpond::app {
namespace {

using service::member;
using Tree = Json::Value;

/// Returns a member as in the JSON; empty if null.
std::string text(const Tree& tree, const char* key) { return member(tree, key).asString(); }
double number(const Tree& tree, const char* key) { return member(tree, key).asDouble(); }
bool is_null(const Tree& tree, const char* key) { return member(tree, key).isNull(); }
bool is_set(const Tree& tree, const char* key) { return member(tree, key).asBool(); }

/// Formats 1234567 as "1.23M".
std::string amount(double value) {
    constexpr double kThousand = 1e3;
    constexpr double kMaxPlain = 1e5;  // numbers below it are not abbreviated
    if (value < kMaxPlain) return fmt::format("{:.0f}", value);
    for (const char* const unit : {"k", "M", "G", "T"}) {
        value /= kThousand;
        if (value < kThousand) return fmt::format("{:.2f}{}", value, unit);
    }
    return fmt::format("{:.2f}P", value / kThousand);
}
std::string amount(const Tree& tree, const char* key) { return amount(number(tree, key)); }

/// Cell for a number that should be 0.
Cell loss(const Tree& tree, const char* key, Tone tone = Tone::error) {
    const auto value = number(tree, key);
    return {amount(value), value > 0 ? tone : Tone::plain};
}

std::string span(double nanos) {
    const auto size = std::abs(nanos);
    if (size < 1e3) return fmt::format("{:.0f}ns", nanos);
    if (size < 1e6) return fmt::format("{:.1f}us", nanos / 1e3);
    if (size < 1e9) return fmt::format("{:.1f}ms", nanos / 1e6);
    if (size < 60e9) return fmt::format("{:.1f}s", nanos / 1e9);
    if (size < 3'600e9) return fmt::format("{:.0f}min", nanos / 60e9);
    return fmt::format("{:.1f}h", nanos / 3'600e9);
}
/// Formats a duration; "-" if there is none.
std::string span(const Tree& tree, const char* key) { return is_null(tree, key) ? "-" : span(number(tree, key)); }

std::string mebibytes(const Tree& tree, const char* key) {
    return fmt::format("{:.1f}M", number(tree, key) / (1024.0 * 1024.0));
}

/// Number of clients of a sink, or whether it is connected; "-" if it has neither.
Cell peers_of(const Tree& sink) {
    if (!is_null(sink, "connected")) return is_set(sink, "connected") ? Cell{"up"} : Cell{"down", Tone::error};
    return {is_null(sink, "clients") ? "-" : text(sink, "clients")};
}

Tone tone_of(const std::string& severity) {
    if (severity == "error") return Tone::error;
    return severity == "warning" ? Tone::warning : Tone::notice;
}

using Rows = std::vector<const Tree*>;

Rows rows_of(const Tree& list) {
    Rows rows;
    for (const auto& row : list) rows.push_back(&row);
    return rows;
}

/// Sorts rows: numbers in descending order, names in alphabetical order.
Rows sorted(const Tree& list, TopOrder order, const char* rate, const char* lag, const char* missed) {
    auto rows = rows_of(list);
    const auto size = [](const Tree& row, const char* key) { return is_null(row, key) ? -1.0 : number(row, key); };
    const auto by = [&](const char* key) {
        std::ranges::stable_sort(
            rows, [&](const Tree* left, const Tree* right) { return size(*left, key) > size(*right, key); });
    };
    switch (order) {
        case TopOrder::configured: break;
        case TopOrder::name:
            std::ranges::stable_sort(rows, {}, [](const Tree* row) { return text(*row, "name"); });
            break;
        case TopOrder::rate: by(rate); break;
        case TopOrder::lag: by(lag); break;
        case TopOrder::missed: by(missed); break;
    }
    return rows;
}

bool is_fix_engine(const Tree& health) { return health.isMember("sessions"); }

class Page {
public:
    Page(const Tree& tree, const Tree& clients, const Tree& history, const TopView& view)
        : tree_(tree), clients_(clients), history_(history), now_(number(tree, "now")), view_(view) {}

    std::string write() {
        const auto tables = is_fix_engine(tree_) ? std::vector<TextTable>{findings(), sessions(), replicas()}
                                                 : std::vector<TextTable>{findings(),  feeds(), sinks(),   clients(),
                                                                          latencies(), rings(), readers(), pools()};
        const auto max_rows = fitting(tables);
        std::string out = summary() + '\n';
        for (std::size_t i = 0; i < tables.size(); ++i) {
            if (tables[i].rows() == 0 || max_rows[i] == 0) continue;
            if (i != 0) out += '\n';
            for (const auto& line : tables[i].lines(view_.width, max_rows[i], view_.colour)) out += line + '\n';
        }
        return out;
    }

private:
    /// Number of rows of each table that fit; 0 leaves it out.
    [[nodiscard]] std::vector<std::size_t> fitting(const std::vector<TextTable>& tables) const {
        constexpr std::size_t kMinRows = 2;      // one row and the number of others
        constexpr std::size_t kFirstDetail = 3;  // first table after findings, feeds and sinks
        std::vector<std::size_t> max_rows;
        for (const auto& table : tables) max_rows.push_back(table.rows());
        if (view_.height == 0) return max_rows;
        const auto lines = [&] {
            std::size_t sum = 1;
            for (std::size_t i = 0; i < max_rows.size(); ++i) {
                if (max_rows[i] != 0) sum += max_rows[i] + (i == 0 ? 1 : 2);
            }
            return sum;
        };
        // Rows with findings are cut last; the findings themselves use at most half of the height.
        const auto spare = [&](std::size_t i) {
            auto keep = std::max(kMinRows, std::min(tables[i].rows(), tables[i].marked() + 1));
            if (i == 0) keep = std::min(keep, std::max<std::size_t>(kMinRows, view_.height / 2));
            return max_rows[i] - std::min(max_rows[i], keep);
        };
        while (lines() > view_.height) {
            std::size_t widest = 0;
            for (std::size_t i = 1; i < max_rows.size(); ++i) {
                if (spare(i) > spare(widest)) widest = i;
            }
            if (spare(widest) != 0) {
                --max_rows[widest];
                continue;
            }
            std::size_t healthy = max_rows.size();
            for (std::size_t i = kFirstDetail; i < max_rows.size(); ++i) {
                if (max_rows[i] != 0 && tables[i].marked() == 0) healthy = i;
            }
            if (healthy != max_rows.size()) {
                max_rows[healthy] = 0;
                continue;
            }
            if (const auto largest = std::ranges::max_element(max_rows); *largest > kMinRows) {
                --*largest;
                continue;
            }
            const auto last = std::find_if(max_rows.rbegin(), max_rows.rend(), [](auto rows) { return rows != 0; });
            if (last == max_rows.rend()) break;
            *last = 0;
        }
        return max_rows;
    }

    std::string summary() {
        std::string words;
        auto worst = Tone::good;
        for (const auto& [severity, noun] : std::array<std::pair<const char*, const char*>, 3>{
                 {{"error", "error"}, {"warning", "warning"}, {"info", "notice"}}}) {
            const auto& all = member(tree_, "findings");
            const auto count =
                std::ranges::count_if(all, [&](const Tree& one) { return text(one, "severity") == severity; });
            if (count == 0) continue;
            if (words.empty()) worst = tone_of(severity);
            words += fmt::format("{}{} {}{}", words.empty() ? "" : ", ", count, noun, count == 1 ? "" : "s");
        }
        if (words.empty()) words = "healthy";
        const auto room = view_.width == 0 ? std::string::npos : view_.width - std::min(view_.width, words.size());
        return toned(words, worst, view_.colour) + (is_fix_engine(tree_) ? about_engine() : about()).substr(0, room);
    }

    [[nodiscard]] std::string about_engine() const {
        const auto& sessions = member(tree_, "sessions");
        const auto active =
            std::ranges::count_if(sessions, [](const Tree& one) { return text(one, "state") == "active"; });
        std::string listening;
        for (const auto& place : member(tree_, "acceptors")) {
            listening += fmt::format("{}{}", listening.empty() ? "  listening on " : ", ", place.asString());
        }
        return fmt::format("  {} of {} logged on  up {}{}", active, sessions.size(),
                           span(now_ - number(tree_, "started")), listening);
    }

    /// Which gateway it is; the least important last.
    [[nodiscard]] std::string about() const {
        const auto& gateway = member(tree_, "gateway");
        const auto& config = member(gateway, "config");
        const bool changed = !config.isNull() && is_set(config, "changed");
        return fmt::format("  {} on {}{}  up {}  {}  {}", text(gateway, "name"), text(gateway, "host"),
                           changed ? "  configuration changed since start" : "", span(now_ - number(tree_, "started")),
                           text(gateway, "version"), config.isNull() ? "" : text(config, "file"));
    }

    /// Severity of the worst finding about `of`: 3: error; 2: warning; 1: notice; 0: none.
    [[nodiscard]] int trouble(const std::string& of) const {
        int worst = 0;
        for (const auto& one : member(tree_, "findings")) {
            if (text(one, "of") == of) worst = std::max(worst, rank(text(one, "severity")));
        }
        return worst;
    }
    static int rank(const std::string& severity) { return severity == "error" ? 3 : severity == "warning" ? 2 : 1; }
    static Tone tone_of_trouble(int rank) { return rank == 3 ? Tone::error : rank == 2 ? Tone::warning : Tone::plain; }
    /// Moves rows with findings to the front, unless another order is requested.
    [[nodiscard]] Rows troubled_first(Rows rows, const char* kind) const {
        if (view_.order != TopOrder::configured) return rows;
        std::ranges::stable_sort(rows, std::greater{}, [&](const Tree* row) {
            return trouble(fmt::format("{} '{}'", kind, text(*row, "name")));
        });
        return rows;
    }

    /// A series of the last minute as bars; the highest is its maximum.
    [[nodiscard]] std::string bars(const char* kind, const std::string& name, const char* series) const {
        constexpr std::array<const char*, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        constexpr Json::ArrayIndex kMost = 20;
        for (const auto& source : history_) {
            if (text(source, "kind") != kind || text(source, "name") != name) continue;
            const auto& values = member(member(source, "series"), series);
            double highest = 0;
            for (const auto& value : values) highest = std::max(highest, value.isNull() ? 0 : value.asDouble());
            std::string drawn;
            for (auto i = values.size() - std::min(values.size(), kMost); i < values.size(); ++i) {
                const auto share = values[i].isNull() || highest == 0 ? 0 : values[i].asDouble() / highest;
                drawn +=
                    values[i].isNull() ? " " : kBars[static_cast<std::size_t>(std::lround(share * (kBars.size() - 1)))];
            }
            return drawn;
        }
        return {};
    }

    [[nodiscard]] TextTable findings() const {
        TextTable table{{{"FINDING", true, 3}, {"AGE", false, 2}, {"WHAT", true, 1}}};
        auto rows = rows_of(member(tree_, "findings"));
        std::ranges::stable_sort(rows, std::greater{}, [](const Tree* one) {
            return std::pair{rank(text(*one, "severity")), number(*one, "since")};
        });
        for (const auto* one : rows) {
            table.add({{fmt::format("{}: {}", text(*one, "stage"), text(*one, "of")), tone_of(text(*one, "severity"))},
                       {span(now_ - number(*one, "since"))},
                       {text(*one, "text")}});
        }
        return table;
    }

    [[nodiscard]] TextTable feeds() const {
        TextTable table{{{"FEED", true, 9},
                         {"DATAGRAMS/S", false, 5},
                         {"QUOTES/S", false, 8},
                         {"LAST MINUTE", false, 3},
                         {"LAST", false, 7},
                         {"DELAY", false, 4},
                         {"MISSING", false, 8},
                         {"REJECTED", false, 6},
                         {"DROPS", false, 6},
                         {"HALTED", false, 2},
                         {"INCOMPLETE", false, 3}}};
        for (const auto* feed : troubled_first(
                 sorted(member(tree_, "feeds"), view_.order, "quotes_per_second", "delay_ns", "missing"), "feed")) {
            const bool ever = !is_null(*feed, "last_packet");
            table.add({{text(*feed, "name"), tone_of_trouble(trouble(fmt::format("feed '{}'", text(*feed, "name"))))},
                       {amount(*feed, "packets_per_second")},
                       {amount(*feed, "quotes_per_second")},
                       {bars("feed", text(*feed, "name"), "quotes_per_second")},
                       {ever ? span(now_ - number(*feed, "last_packet")) : "never"},
                       {span(*feed, "delay_ns")},
                       loss(*feed, "missing"),
                       loss(*feed, "undecodable"),
                       loss(*feed, "kernel_drops"),
                       {amount(*feed, "instruments_halted")},
                       loss(*feed, "instruments_incomplete", Tone::warning)});
        }
        return table;
    }

    [[nodiscard]] TextTable sinks() const {
        TextTable table{{{"SINK", true, 9},
                         {"TYPE", true, 4},
                         {"PEERS", false, 6},
                         {"DELIVERED/S", false, 7},
                         {"QUEUED", false, 5},
                         {"LAG", false, 8},
                         {"LAST MINUTE", false, 3},
                         {"CONFLATED", false, 3},
                         {"MISSED", false, 8},
                         {"LAST ERROR", true, 2}}};
        for (const auto* sink : troubled_first(
                 sorted(member(tree_, "sinks"), view_.order, "delivered_per_second", "lag_ns", "missed"), "sink")) {
            table.add({{text(*sink, "name"), tone_of_trouble(trouble(fmt::format("sink '{}'", text(*sink, "name"))))},
                       {text(*sink, "type")},
                       peers_of(*sink),
                       {amount(*sink, "delivered_per_second")},
                       {amount(*sink, "queued")},
                       {span(*sink, "lag_ns"), is_set(*sink, "behind") ? Tone::error : Tone::plain},
                       {bars("sink", text(*sink, "name"), "lag_ns")},
                       {amount(*sink, "conflated")},
                       loss(*sink, "missed"),
                       {text(*sink, "last_error")}});
        }
        return table;
    }

    [[nodiscard]] TextTable sessions() const {
        TextTable table{{{"SESSION", true, 9},
                         {"STATE", true, 8},
                         {"PEER", true, 3},
                         {"NEXT OUT", false, 5},
                         {"NEXT IN", false, 5},
                         {"SENT", false, 4},
                         {"RECEIVED", false, 4},
                         {"LAST MINUTE", false, 3},
                         {"RESENT", false, 3},
                         {"REJECTED", false, 6},
                         {"UNREAD", false, 7},
                         {"LAST", false, 7},
                         {"P50", false, 2},
                         {"P99", false, 4}}};
        for (const auto* session : troubled_first(
                 sorted(member(tree_, "sessions"), view_.order, "received", "pending_bytes", "rejected"), "session")) {
            const auto name = text(*session, "name");
            const auto& latency = member(*session, "latency");
            const bool any = number(latency, "count") > 0;
            const auto last = std::max(is_null(*session, "last_received") ? 0 : number(*session, "last_received"),
                                       is_null(*session, "last_sent") ? 0 : number(*session, "last_sent"));
            table.add({{name, tone_of_trouble(trouble(fmt::format("session '{}'", name)))},
                       {state_of(*session)},
                       {text(*session, "peer")},
                       {amount(*session, "next_sender")},
                       {amount(*session, "next_target")},
                       {amount(*session, "sent")},
                       {amount(*session, "received")},
                       {bars("session", name, "received_per_second")},
                       {amount(*session, "resent")},
                       loss(*session, "rejected", Tone::warning),
                       {amount(*session, "pending_bytes")},
                       {last == 0 ? "never" : span(now_ - last)},
                       {any ? span(latency, "p50") : "-"},
                       {any ? span(latency, "p99") : "-"}});
        }
        return table;
    }

    /// The state of a session in the words of the page (web/fix.js).
    static std::string state_of(const Tree& session) {
        if (!is_set(session, "enabled")) return "disabled";
        if (is_set(session, "resending")) return "resend in progress";
        if (is_set(session, "awaits_resend")) return "waiting for a resend";
        const auto state = text(session, "state");
        return state == "disconnected" && !is_set(session, "open") ? "outside its schedule" : state;
    }

    /// The sessions that this engine is the standby of.
    [[nodiscard]] TextTable replicas() const {
        TextTable table{{{"STANDBY OF", true, 9},
                         {"STATE", true, 8},
                         {"PRIMARY", true, 3},
                         {"NEXT OUT", false, 5},
                         {"NEXT IN", false, 5}}};
        for (const auto* replica : rows_of(member(tree_, "replicas"))) {
            if (is_set(*replica, "promoted")) continue;
            const bool whole = is_set(*replica, "whole");
            table.add({{text(*replica, "name")},
                       {whole ? "complete" : "gaps", whole ? Tone::plain : Tone::warning},
                       {text(*replica, "peer")},
                       {amount(*replica, "next_sender")},
                       {amount(*replica, "next_target")}});
        }
        return table;
    }

    [[nodiscard]] TextTable clients() const {
        TextTable table{{{"CLIENT", true, 9},
                         {"NAME", true, 7},
                         {"SINK", true, 5},
                         {"DELIVERED/S", false, 6},
                         {"QUEUED", false, 4},
                         {"LAG", false, 8},
                         {"CONFLATED", false, 3},
                         {"MISSED", false, 8}}};
        const bool by_name = view_.order == TopOrder::name;
        auto rows =
            sorted(clients_, by_name ? TopOrder::configured : view_.order, "delivered_per_second", "lag_ns", "missed");
        if (by_name) std::ranges::stable_sort(rows, {}, [](const Tree* one) { return text(*one, "peer"); });
        if (view_.order == TopOrder::configured) {
            std::ranges::stable_sort(rows, std::greater{}, [](const Tree* one) {
                return std::pair{number(*one, "missed"), number(*one, "lag_ns")};
            });
        }
        for (const auto* client : rows) {
            const bool lags = number(*client, "lag_ns") > 0;
            table.add({{text(*client, "peer")},
                       {text(*client, "name")},
                       {text(*client, "sink")},
                       {amount(*client, "delivered_per_second")},
                       {amount(*client, "queued")},
                       {lags ? span(*client, "lag_ns") : "-", lags ? Tone::warning : Tone::plain},
                       {amount(*client, "conflated")},
                       loss(*client, "missed")});
        }
        return table;
    }

    [[nodiscard]] TextTable latencies() const {
        TextTable table{{{"LATENCY, NEWEST SECONDS", true, 9},
                         {"AVERAGE", false, 4},
                         {"P50", false, 8},
                         {"P90", false, 2},
                         {"P95", false, 3},
                         {"P99", false, 7},
                         {"P99.9", false, 6},
                         {"MAX", false, 5}}};
        for (const auto* ring : rows_of(member(tree_, "rings"))) {
            for (const auto& [stage, title] : std::array<std::pair<const char*, const char*>, 2>{
                     {{"wire", "wire to ring"}, {"in_process", "receive to ring"}}}) {
                const auto& recent = member(member(*ring, stage), "recent");
                std::vector<Cell> row{{fmt::format("{} '{}'", title, text(*ring, "name"))}};
                const bool any = number(recent, "count") > 0;
                for (const char* const key : {"mean", "p50", "p90", "p95", "p99", "p999", "max"}) {
                    row.push_back({any ? span(recent, key) : "-"});
                }
                table.add(std::move(row));
            }
        }
        return table;
    }

    [[nodiscard]] TextTable rings() const {
        TextTable table{{{"RING", true, 9},
                         {"EVENTS/S", false, 8},
                         {"INSTRUMENTS", false, 7},
                         {"MAPPED", false, 5},
                         {"HUGE", false, 4},
                         {"LOCKED", false, 3}}};
        for (const auto* ring : rows_of(member(tree_, "rings"))) {
            table.add({{text(*ring, "name")},
                       {amount(*ring, "published_per_second")},
                       {fmt::format("{}/{}", text(*ring, "instruments"), text(*ring, "max_instruments"))},
                       {mebibytes(member(*ring, "memory"), "mapped")},
                       {mebibytes(member(*ring, "memory"), "huge")},
                       {mebibytes(member(*ring, "memory"), "locked")}});
        }
        return table;
    }

    [[nodiscard]] TextTable readers() const {
        TextTable table{
            {{"READER", true, 9}, {"RING", true, 4}, {"BEHIND", false, 7}, {"MISSED", false, 8}, {"STATE", true, 6}}};
        for (const auto* ring : rows_of(member(tree_, "rings"))) {
            auto all = rows_of(member(*ring, "readers"));
            std::ranges::stable_sort(all, {}, [](const Tree* reader) { return is_set(*reader, "alive"); });
            for (const auto* reader : all) {
                const bool alive = is_set(*reader, "alive");
                table.add({{text(*reader, "name")},
                           {text(*ring, "name")},
                           {amount(*reader, "behind")},
                           loss(*reader, "missed"),
                           alive ? Cell{"alive"} : Cell{"dead", Tone::error}});
            }
            if (!ring->get("readers_complete", true).asBool()) {
                table.add({{"more, not listed"}, {text(*ring, "name")}, {"-"}, {"-"}, {"-"}});
            }
        }
        return table;
    }

    [[nodiscard]] TextTable pools() const {
        TextTable table{{{"POOL", true, 9},
                         {"OF", true, 8},
                         {"USED", false, 6},
                         {"CAPACITY", false, 4},
                         {"FULL", false, 7},
                         {"REFUSED", false, 8}}};
        for (const auto* pool : rows_of(member(tree_, "pools"))) {
            const auto capacity = number(*pool, "capacity");
            const auto full = capacity == 0 ? 0 : number(*pool, "used") / capacity * 100;
            table.add({{text(*pool, "name")},
                       {text(*pool, "of")},
                       {amount(*pool, "used")},
                       {amount(*pool, "capacity")},
                       {fmt::format("{:.1f}%", full)},
                       loss(*pool, "refused")});
        }
        return table;
    }

    const Tree& tree_;
    const Tree& clients_;
    const Tree& history_;
    double now_;
    TopView view_;
};

}  // namespace

std::string top_text(const TopAnswers& answers, const TopView& view) {
    const auto parsed = [](const std::string& json, const char* key) {
        return json.empty() ? Tree{} : Tree{member(service::parse_json(json), key)};
    };
    try {
        const auto tree = service::parse_json(answers.health);
        const auto clients = parsed(answers.clients, "clients");
        const auto history = parsed(answers.history, "sources");
        return Page{tree, clients, history, view}.write();
    } catch (const std::exception& error) {
        throw std::runtime_error(fmt::format("the response is not a health report of millpond: {}", error.what()));
    }
}

}  // namespace millpond::app
