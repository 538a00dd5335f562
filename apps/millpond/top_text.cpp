#include "apps/millpond/top_text.hpp"

#include <fmt/format.h>
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace millpond::app {
namespace {

using Tree = boost::property_tree::ptree;

std::string text(const Tree& tree, const char* key) { return tree.get<std::string>(key); }

/// 1234567 is "1.23M".
std::string amount(double value) {
    constexpr double kThousand = 1e3;
    constexpr double kLongest = 1e5;  // written out below
    if (value < kLongest) return fmt::format("{:.0f}", value);
    for (const char* const unit : {"k", "M", "G", "T"}) {
        value /= kThousand;
        if (value < kThousand) return fmt::format("{:.2f}{}", value, unit);
    }
    return fmt::format("{:.2f}P", value / kThousand);
}
std::string amount(const Tree& tree, const char* key) { return amount(tree.get<double>(key)); }

std::string span(double nanos) {
    const auto size = std::abs(nanos);
    if (size < 1e3) return fmt::format("{:.0f}ns", nanos);
    if (size < 1e6) return fmt::format("{:.1f}us", nanos / 1e3);
    if (size < 1e9) return fmt::format("{:.1f}ms", nanos / 1e6);
    return fmt::format("{:.1f}s", nanos / 1e9);
}
/// "-" where there is none.
std::string span(const Tree& tree, const char* key) {
    return text(tree, key) == "null" ? "-" : span(tree.get<double>(key));
}

std::string mebibytes(const Tree& tree, const char* key) {
    return fmt::format("{:.1f}M", tree.get<double>(key) / (1024.0 * 1024.0));
}

/// How many are connected to a sink, or whether it is connected; "-" where it is neither.
std::string clients_of(const Tree& sink) {
    if (const auto connected = text(sink, "connected"); connected != "null") return connected == "true" ? "up" : "down";
    const auto clients = text(sink, "clients");
    return clients == "null" ? "-" : clients;
}

class Page {
public:
    explicit Page(const Tree& tree) : tree_(tree), now_(tree.get<double>("now")) {}

    std::string write() {
        write_findings();
        write_feeds();
        write_rings();
        write_pools();
        write_sinks();
        return std::move(out_);
    }

private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
        out_ += '\n';
    }

    void write_findings() {
        const auto& findings = tree_.get_child("findings");
        if (findings.empty()) line("good");
        for (const auto& [name, finding] : findings) {
            line("{:<8} {}: {}: {} (for {})", text(finding, "severity"), text(finding, "stage"), text(finding, "of"),
                 text(finding, "text"), span(now_ - finding.get<double>("since")));
        }
    }

    void write_feeds() {
        line("\n{:<20} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>10}", "FEED", "PACKETS/S", "QUOTES/S",
             "LAST", "DELAY", "MISSING", "REJECTED", "DROPS", "HALTED", "INCOMPLETE");
        for (const auto& [name, feed] : tree_.get_child("feeds")) {
            const bool ever = text(feed, "last_packet") != "null";
            line("{:<20} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>10}", text(feed, "name"),
                 amount(feed, "packets_per_second"), amount(feed, "quotes_per_second"),
                 ever ? span(now_ - feed.get<double>("last_packet")) : "never", span(feed, "delay_ns"),
                 amount(feed, "missing"), amount(feed, "undecodable"), amount(feed, "kernel_drops"),
                 amount(feed, "instruments_halted"), amount(feed, "instruments_incomplete"));
        }
    }

    void write_rings() {
        line("\n{:<20} {:>10} {:>15} {:>9} {:>9} {:>9}", "RING", "EVENTS/S", "INSTRUMENTS", "MAPPED", "HUGE", "LOCKED");
        for (const auto& [name, ring] : tree_.get_child("rings")) {
            line("{:<20} {:>10} {:>15} {:>9} {:>9} {:>9}", text(ring, "name"), amount(ring, "published_per_second"),
                 fmt::format("{}/{}", text(ring, "instruments"), text(ring, "max_instruments")),
                 mebibytes(ring, "memory.mapped"), mebibytes(ring, "memory.huge"), mebibytes(ring, "memory.locked"));
            write_latencies(ring);
            for (const auto& [index, reader] : ring.get_child("readers")) {
                line("  reader {:<11} {:>10} behind {:>10} missed{}", text(reader, "name"), amount(reader, "behind"),
                     amount(reader, "missed"), text(reader, "alive") == "true" ? "" : "  dead");
            }
            if (ring.get<bool>("readers_complete", true) == false) line("  and more readers, not listed");
        }
    }

    void write_latencies(const Tree& ring) {
        line("  {:<18} {:>10} {:>9} {:>9} {:>9} {:>9}", "latency, newest s", "P50", "P90", "P99", "P99.9", "MAX");
        for (const char* const stage : {"wire", "in_process"}) {
            const auto& recent = ring.get_child(stage).get_child("recent");
            line("  {:<18} {:>10} {:>9} {:>9} {:>9} {:>9}",
                 stage == std::string{"wire"} ? "wire to ring" : "receive to ring", span(recent, "p50"),
                 span(recent, "p90"), span(recent, "p99"), span(recent, "p999"), span(recent, "max"));
        }
    }

    void write_pools() {
        line("\n{:<20} {:<24} {:>10} {:>10} {:>6} {:>9}", "POOL", "OF", "USED", "CAPACITY", "FULL", "REFUSED");
        for (const auto& [name, pool] : tree_.get_child("pools")) {
            const auto capacity = pool.get<double>("capacity");
            const auto full = capacity == 0 ? 0 : pool.get<double>("used") / capacity * 100;
            line("{:<20} {:<24} {:>10} {:>10} {:>5.1f}% {:>9}", text(pool, "name"), text(pool, "of"),
                 amount(pool, "used"), amount(pool, "capacity"), full, amount(pool, "refused"));
        }
    }

    void write_sinks() {
        line("\n{:<20} {:<8} {:>7} {:>10} {:>9} {:>11} {:>10} {:>10}  {}", "SINK", "TYPE", "CLIENTS", "LAG", "LAG TIME",
             "DELIVERED/S", "CONFLATED", "MISSED", "LAST ERROR");
        for (const auto& [name, sink] : tree_.get_child("sinks")) {
            const auto error = text(sink, "last_error");
            line("{:<20} {:<8} {:>7} {:>10} {:>9} {:>11} {:>10} {:>10}  {}", text(sink, "name"), text(sink, "type"),
                 clients_of(sink), amount(sink, "queued"), span(sink, "lag_ns"), amount(sink, "delivered_per_second"),
                 amount(sink, "conflated"), amount(sink, "missed"), error == "null" ? "" : error);
        }
    }

    const Tree& tree_;
    double now_;
    std::string out_;
};

}  // namespace

std::string top_text(const std::string& health_json) {
    Tree tree;
    try {
        std::istringstream in{health_json};
        boost::property_tree::read_json(in, tree);
        return Page{tree}.write();
    } catch (const boost::property_tree::ptree_error& error) {
        throw std::runtime_error(fmt::format("this is not what a gateway says of its health: {}", error.what()));
    }
}

}  // namespace millpond::app
