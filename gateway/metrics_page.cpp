#include "gateway/metrics_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/tally.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/health/report_json.hpp"
#include "gateway/health/report_metrics.hpp"
#include "gateway/sinks/account.hpp"
#include "service/build_info.hpp"

namespace millpond::gateway {

MetricsPage::MetricsPage(Health health) : health_(std::move(health)) {
    const auto [version, commit] = service::build_info();
    listed_.push_back(registry_.add_gauge({"millpond_build_info",
                                           "Always 1; the labels describe the build.",
                                           {{"version", std::string{version}}, {"commit", std::string{commit}}}},
                                          [] { return 1.0; }));
}

void MetricsPage::add(const Pipeline& pipeline) {
    const metrics::Labels ring{{"ring", pipeline.config().name}};
    const auto& publisher = pipeline.publisher();
    listed_.push_back(registry_.add_counter({"millpond_ring_published_total", "Events published to the ring.", ring},
                                            publisher.published()));
    listed_.push_back(
        registry_.add_gauge({"millpond_ring_instruments", "Instruments that have a name.", ring}, publisher.named()));
    listed_.push_back(
        registry_.add_counter({"millpond_ring_refused_total",
                               "Events not published because the table of instruments or channels was full.", ring},
                              pipeline.ring().refused_events()));
    listed_.push_back(
        registry_.add_counter({"millpond_ring_moved_total",
                               "Groups with levels of an instrument whose levels came from another feed before.", ring},
                              pipeline.ring().moved_instruments()));
    listed_.push_back(registry_.add_counter({"millpond_instruments_refused_total",
                                             "Times that an instrument was refused because the table was full.", ring},
                                            pipeline.instruments().refused()));
    listed_.push_back(
        registry_.add_latency({"millpond_wire_to_ring_seconds",
                               "Latency from the kernel's or network card's receive timestamp to shared memory.", ring},
                              publisher.latencies().wire, metrics::LatencyForm::histogram));
    listed_.push_back(registry_.add_latency(
        {"millpond_receive_to_ring_seconds", "Latency from the end of the receive call to shared memory.", ring},
        publisher.latencies().in_process, metrics::LatencyForm::histogram));
    if (const auto* capture = pipeline.capture()) {
        const auto count = [&](std::string_view name, std::string_view help, const core::Tally& tally) {
            listed_.push_back(registry_.add_counter(
                {fmt::format("millpond_capture_{}_total", name), std::string{help}, ring}, tally));
        };
        count("datagrams", "Raw datagrams captured.", capture->counters().datagrams);
        count("bytes", "Bytes of the raw datagrams captured.", capture->counters().bytes);
        count("files", "Capture files created.", capture->counters().files);
        count("lost", "Raw datagrams not captured because too many were waiting for the disk.", capture->lost());
        count("write_errors", "Writes, opens and renames that failed; they are retried.",
              capture->counters().write_errors);
    }
    pipeline.for_each_feed([&](const auto& feed) { add_feed(feed); });
    if (pipeline.composites() == nullptr) return;
    for (const auto& one : pipeline.composites()->all()) add_composite(pipeline, one);
}

void MetricsPage::add_composite(const Pipeline& pipeline, const Composites::One& one) {
    const metrics::Labels labels{{"ring", pipeline.config().name}, {"composite", one.venue}};
    const auto& composite = one.composite;
    listed_.push_back(
        registry_.add_gauge({"millpond_composite_symbols", "Symbols of the composite.", labels}, composite.symbols()));
    listed_.push_back(registry_.add_gauge(
        {"millpond_composite_locked", "Symbols whose best bid is the best offer.", labels}, composite.locked()));
    listed_.push_back(
        registry_.add_gauge({"millpond_composite_crossed", "Symbols whose best bid is above the best offer.", labels},
                            composite.crossed()));
    listed_.push_back(registry_.add_gauge(
        {"millpond_composite_refused",
         "Instruments that are not in the composite because another symbol of their venue has the same name.", labels},
        composite.refused()));
    using LeftOut = market::Composite::LeftOut;
    constexpr std::pair<LeftOut, const char*> kReasons[] = {{LeftOut::incomplete, "incomplete"},
                                                            {LeftOut::silent, "silent"},
                                                            {LeftOut::halted, "halted"},
                                                            {LeftOut::not_firm, "not_firm"}};
    pipeline.for_each_feed([&](const auto& feed) {
        const auto channel = *feed.config().channel;
        if (!composite.takes_part(channel)) return;
        for (const auto& [reason, text] : kReasons) {
            auto with = labels;
            with.emplace_back("feed", feed.config().name);
            with.emplace_back("reason", text);
            listed_.push_back(registry_.add_gauge(
                {"millpond_composite_left_out", "Symbols in which the feed's quote is left out of the composite.",
                 std::move(with)},
                composite.left_out(channel, reason)));
        }
    });
}

void MetricsPage::add_feed(const Feed& feed) {
    const auto list_with = [&](const metrics::Labels& labels) {
        return [this, labels](std::string_view name, std::string_view help, const core::Tally& tally) {
            const bool is_gauge = name.ends_with("_live") || name.ends_with("_incomplete");
            metrics::MetricName full{fmt::format("millpond_feed_{}{}", name, is_gauge ? "" : "_total"),
                                     std::string{help}, labels};
            listed_.push_back(is_gauge ? registry_.add_gauge(std::move(full), tally)
                                       : registry_.add_counter(std::move(full), tally));
        };
    };
    const auto& name = feed.config().name;
    const bool several = !feed.config().line_b.empty();
    const auto labels_of = [&](std::string_view which) {
        metrics::Labels labels{{"feed", name}};
        if (several) labels.emplace_back("line", which);
        return labels;
    };
    feed.for_each_line([&](std::string_view which, const Line& receiver) {
        const auto list = list_with(labels_of(which));
        const auto& counts = receiver.counters();
        list("packets", "Datagrams received.", counts.datagrams);
        list("packet_bytes", "Bytes of the datagrams received.", counts.bytes);
        list("truncated", "Datagrams that were longer than the buffer.", counts.truncated);
        list("kernel_drops", "Datagrams that the kernel dropped before the socket.", counts.kernel_drops);
        list("checksum_errors", "Datagrams dropped for a wrong IP or UDP checksum (af_xdp).", counts.checksum_errors);
        list("other_vlan", "Frames for the feed on another VLAN, left to the kernel (af_xdp).", counts.other_vlan);
        list("receive_errors", "Receive calls that failed.", counts.errors);
        list("rejoins", "Times that the socket was bound to an interface that was made again.", counts.rejoins);
    });
    feed.for_each_arbitrated(
        [&](std::string_view which, const feed::LineCounters& counters, const feed::SequenceCounters& sequence) {
            const auto list = list_with(labels_of(which));
            counters.visit(list);
            sequence.visit([&](std::string_view part, std::string_view help, const core::Tally& tally) {
                list(fmt::format("line_{}", part), help, tally);
            });
        });
    const auto list = list_with({{"feed", name}});
    const auto list_state = [&](const char* of, const char* help, auto value) {
        listed_.push_back(registry_.add_gauge({of, help, {{"feed", name}}}, [this, name, value] {
            const auto state = health_();
            const auto found = std::find_if(state->feeds.begin(), state->feeds.end(),
                                            [&](const auto& known) { return known.name == name; });
            return found == state->feeds.end() ? 0.0 : value(*found);
        }));
    };
    list_state("millpond_feed_quotes_incomplete", "Quotes that are incomplete because of a gap.",
               [](const health::FeedState& state) { return static_cast<double>(state.instruments_incomplete); });
    list_state("millpond_feed_waiting_seconds", "For how long messages have been waiting behind a gap.",
               [](const health::FeedState& state) { return static_cast<double>(state.waits_ns) / 1e9; });
    feed.visit_line_counters(list);
    feed.visit_counters(list);
}

void MetricsPage::remove(const Consumer& sink) { of_sinks_.erase(&sink); }

void MetricsPage::add(const Consumer& sink) {
    auto& listed = of_sinks_[&sink];
    const metrics::Labels labels{{"sink", sink.name()}};
    struct OfPage {
        std::uint64_t page{0};
        Account account;
    };
    // Reads the account once for all metrics of a page, so that they add up.
    const auto value_of = [this, &sink, cached = std::make_shared<OfPage>()](std::uint64_t Account::* member) {
        return [this, &sink, cached, member] {
            if (std::exchange(cached->page, pages_) != pages_) cached->account = sink.account();
            return static_cast<double>(cached->account.*member);
        };
    };
    const auto list = [&](std::string_view part, std::string_view help, std::uint64_t Account::* member) {
        listed.push_back(registry_.add_counter({fmt::format("millpond_sink_{}_total", part), std::string{help}, labels},
                                               value_of(member)));
    };
    list("published", "Events published since the sink joined: the sum of the other five.", &Account::published);
    list("delivered", "Events passed on.", &Account::delivered);
    list("filtered", "Events that the sink does not pass on by design.", &Account::filtered);
    list("conflated", "Quotes replaced by newer ones before they were passed on.", &Account::conflated);
    list("missed", "Events lost: overwritten before the sink read them, or refused by its receiver.", &Account::missed);
    list("refused", "Of the missed events, those that the sink's receiver refused.", &Account::refused);
    list("snapshot", "Quotes of the board passed on when the sink joined.", &Account::snapshot);
    listed.push_back(registry_.add_gauge({"millpond_sink_queued", "Events waiting to be passed on.", labels},
                                         value_of(&Account::queued)));
    sink.visit_metrics([&](std::string_view name, std::string_view help, const core::Tally& tally) {
        metrics::MetricName full{fmt::format("millpond_{}_{}", sink.type(), name), std::string{help}, labels};
        listed.push_back(name.ends_with("_total") ? registry_.add_counter(std::move(full), tally)
                                                  : registry_.add_gauge(std::move(full), tally));
    });
}

http::Page MetricsPage::page(const http::Request& request) const {
    const auto state = health_();
    if (request.path == "/metrics") {
        const std::lock_guard lock{writing_};
        ++pages_;
        return {std::string{metrics::Registry::kContentType},
                registry_.prometheus_text() + health::report_metrics(*state)};
    }
    if (request.path == "/api/health") return {.type = "application/json", .body = health::report_json(*state)};
    if (request.path != "/health") return {};
    return {.type = "text/plain", .body = health::report_line(*state), .good = health::is_good(*state)};
}

}  // namespace millpond::gateway
