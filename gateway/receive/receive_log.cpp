#include "gateway/receive/receive_log.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/feed/event_json.hpp>

namespace millpond::gateway {
namespace {

std::string name_of_channel(const Pipeline& pipeline, std::uint16_t channel) {
    std::string name;
    pipeline.for_each_feed([&](const auto& feed) {
        if (feed.config().channel == channel) name = feed.config().name;
    });
    return name;
}

void add_gap_event(service::EventLog& events, const std::string& feed, const Notice& notice, core::Moment now) {
    const auto source = fmt::format("feed '{}'", feed);
    service::Event event{
        .kind = service::EventKind::gap, .severity = service::Severity::warning, .source = source, .text = {}};
    event.part = static_cast<unsigned>(notice.gap);
    std::string text;
    switch (notice.gap) {
        case feed::GapReason::venue: return;  // of a composite, which sends no notices
        case feed::GapReason::sequence:
            text = fmt::format("sequence numbers {} to {} are missing", notice.first, notice.last);
            event.range = {notice.first, notice.last};
            break;
        case feed::GapReason::rejected:
            text = fmt::format("message {} could not be decoded", notice.first);
            event.range = {notice.first, notice.first};
            break;
        case feed::GapReason::dropped: text = "the kernel dropped datagrams"; break;
        case feed::GapReason::silence: text = "nothing received for longer than stale_seconds"; break;
    }
    event.text = text;
    events.add(event, now);
}

}  // namespace

void ReceiveLog::opened(const Pipeline& pipeline) {
    constexpr double kMiB = 1024.0 * 1024.0;
    const auto memory = pipeline.ring().report();
    const auto& name = pipeline.config().name;
    log_.info("ring " + name, "ring '{}': {:.1f} MiB of memory, {:.1f} MiB in huge pages, {:.1f} MiB locked{}", name,
              static_cast<double>(memory.mapped_bytes) / kMiB, static_cast<double>(memory.huge_bytes) / kMiB,
              static_cast<double>(memory.locked_bytes) / kMiB,
              pipeline.ring().resumed() ? "; continues the ring of an earlier run" : "");
    std::size_t tables = 0;
    std::size_t huge = 0;
    for (const auto& region : pipeline.tables().regions()) {
        const auto report = region.report();
        tables += report.mapped_bytes;
        huge += report.huge_bytes;
    }
    if (tables != 0) {
        log_.info("tables " + name, "ring '{}': {:.1f} MiB for tables of its feeds, {:.1f} MiB in huge pages", name,
                  static_cast<double>(tables) / kMiB, static_cast<double>(huge) / kMiB);
    }
    if (!memory.shortfall.empty()) log_.warning("ring short " + name, "ring '{}': {}", name, memory.shortfall);
    pipeline.for_each_feed([&](const auto& feed) {
        if (feed.connection() != nullptr) {
            log_.info(fmt::format("feed {} a", feed.config().name), "feed '{}': connects to {}", feed.config().name,
                      feed.config().connect.to_string());
            return;
        }
        feed.for_each_line(
            [&](std::string_view which, const Line& receiver) { opened(feed.config(), which, receiver.report()); });
    });
}

void ReceiveLog::opened(const FeedConfig& config, std::string_view line, const net::ReceiveReport& got) {
    const auto feed = fmt::format("feed '{}'{}", config.name, line == "b" ? ", line B" : "");
    log_.info(fmt::format("feed {} {}", config.name, line),
              "{}: listens on {}, by {}{}, receive buffer {} KiB, GRO {}, receive time by the {}", feed,
              got.local.to_string(), net::name_of(got.path), got.zero_copy ? " without copies" : "",
              got.receive_buffer / 1024, got.gro ? "on" : "off", got.nic_time ? "card" : "kernel");
    for (std::size_t i = 0; i < got.fallbacks.size(); ++i) {
        log_.warning(fmt::format("feed short {} {} {}", config.name, line, i), "{}: {}", feed, got.fallbacks[i]);
    }
}

void ReceiveLog::watch(Pipeline& pipeline, core::Moment now) {
    Notice notice;
    while (pipeline.notices().pop(notice)) log(pipeline, notice, now);
    log_losses(pipeline, now);
}

void ReceiveLog::log(const Pipeline& pipeline, const Notice& notice, core::Moment now) {
    const auto feed = name_of_channel(pipeline, notice.channel);
    switch (notice.kind) {
        case Notice::Kind::rejected:
            log_.warning("rejected " + feed,
                         "feed '{}': a datagram of {} bytes was not decoded: {} at byte {}: found {:#x}, bound {:#x}",
                         feed, notice.bytes, feed::to_string(notice.error.kind), notice.error.offset,
                         notice.error.found, notice.error.bound);
            return;
        case Notice::Kind::gap: log_gap(pipeline, feed, notice, now); return;
        case Notice::Kind::clear:
            log_.info("clear " + feed, "feed '{}': all its quotes are void: {}", feed, feed::to_string(notice.reason));
            events_.add({.kind = service::EventKind::session,
                         .source = fmt::format("feed '{}'", feed),
                         .text = fmt::format("{}: all quotes of the feed are void", feed::to_string(notice.reason))},
                        now);
            return;
    }
}

void ReceiveLog::log_gap(const Pipeline& pipeline, const std::string& feed, const Notice& notice, core::Moment now) {
    add_gap_event(events_, feed, notice, now);
    const auto cause = fmt::format("gap {} {}", feed, feed::to_string(notice.gap));
    constexpr std::string_view kThen = "its quotes are incomplete until newer ones arrive";
    auto then = kThen;
    pipeline.for_each_feed([&](const auto& one) {
        if (one.config().channel != notice.channel || !one.keeps_books()) return;
        then = one.rebuilding() ? "its quotes are incomplete until its books are rebuilt"
                                : "its quotes are incomplete until its next session";
    });
    switch (notice.gap) {
        case feed::GapReason::sequence:
            log_.warning(cause, "feed '{}': sequence numbers {} to {} are missing: {}", feed, notice.first, notice.last,
                         then);
            return;
        case feed::GapReason::rejected:
            log_.warning(cause, "feed '{}': message {} could not be decoded: {}", feed, notice.first, then);
            return;
        case feed::GapReason::dropped:
            log_.warning(cause, "feed '{}': the kernel dropped datagrams: {}", feed, then);
            return;
        case feed::GapReason::silence:
            log_.warning(cause, "feed '{}': nothing received for longer than stale_seconds: {}", feed, kThen);
            return;
        case feed::GapReason::venue: return;  // of a composite, which sends no notices
    }
}

void ReceiveLog::log_losses(Pipeline& pipeline, core::Moment now) {
    const auto& ring = pipeline.config().name;
    if (const auto more = growth("notices " + ring, pipeline.notices().dropped().read()); more != 0) {
        log_.warning("notices " + ring, "ring '{}': {} more log lines about its feeds were left out", ring, more);
        events_.add({.kind = service::EventKind::gap,
                     .severity = service::Severity::warning,
                     .source = fmt::format("ring '{}'", ring),
                     .text = "more gaps, sessions or rejected datagrams of its feeds than could be noted",
                     .count = static_cast<std::uint32_t>(more)},
                    now);
    }
    if (const auto more = growth("refused " + ring, pipeline.instruments().refused().read()); more != 0) {
        log_.warning(
            "refused " + ring,
            "ring '{}': the table of {} instruments is full: {} messages of other instruments were not published "
            "(raise max_instruments)",
            ring, pipeline.config().max_instruments, more);
    }
    if (const auto more = growth("moved " + ring, pipeline.ring().moved_instruments().read()); more != 0) {
        log_.warning("moved " + ring,
                     "ring '{}': books of instruments came from another feed than before, {} times: if two feeds "
                     "publish the same instrument, give one another `venue` or ring",
                     ring, more);
    }
    pipeline.for_each_feed([&](const auto& feed) {
        if (const auto table = feed.table()) log_full_table(feed, *table);
        if (const auto* connection = feed.connection()) log_connection(feed, connection->client());
        feed.for_each_line([&](std::string_view name, const Line& receiver) {
            const auto named = feed.config().name + (name == "b" ? " (line B)" : "");
            const auto key = fmt::format("{} {}", feed.config().name, name);
            const auto& counts = receiver.counters();
            if (const auto more = growth("drops " + key, counts.kernel_drops.read()); more != 0) {
                log_.warning("drops " + key,
                             "feed '{}': the kernel dropped {} datagrams (raise receive_buffer and net.core.rmem_max)",
                             named, more);
            }
            if (growth("rejoins " + key, counts.rejoins.read()) != 0) {
                log_.warning("rejoins " + key, "feed '{}': interface {} was made again; joined again", named,
                             receiver.report().interface);
            }
            if (const auto more = growth("errors " + key, counts.errors.read()); more != 0) {
                log_.warning("errors " + key, "feed '{}': {} receive calls failed, the latest with: {}", named, more,
                             std::generic_category().message(static_cast<int>(counts.last_error.read())));
            }
        });
    });
}

void ReceiveLog::log_connection(const Feed& feed, const net::SoupBinClient& client) {
    const auto& name = feed.config().name;
    const auto server = client.server().to_string();
    if (const auto more = growth("soupbin failures " + name, client.counters().failures.read()); more != 0) {
        const auto status = client.status();
        log_.warning("connection " + name, "feed '{}': {}: {}; retrying", name, server,
                     status.failure == net::SoupBinFailure::none ? fmt::format("{} connections failed", more)
                                                                 : net::to_string(status.failure, status.detail));
    }
    if (const auto more = growth("soupbin unknown " + name, client.counters().unknown.read()); more != 0)
        log_.warning("unknown packets " + name, "feed '{}': {}: {} packets of unknown types were ignored", name, server,
                     more);
    if (const auto more = growth("soupbin duplicates " + name, client.counters().duplicates.read()); more != 0) {
        log_.warning("repeated messages " + name,
                     "feed '{}': {} began below the requested message: {} repeated messages were ignored", name, server,
                     more);
    }
    if (growth("soupbin logins " + name, client.counters().logins.read()) != 0)
        log_.info("login " + name, "feed '{}': logged in to {}", name, server);
}

void ReceiveLog::log_full_table(const Feed& feed, const FeedTable& table) {
    const auto& of = feed.config().name;
    const auto cause = fmt::format("{} {}", table.name, of);
    const auto more = growth(cause, feed.health().table.refused);
    if (more == 0) return;
    log_.warning(cause,
                 "feed '{}': the table of {} {} is full: {} {} did not fit, and their books are incomplete (raise {})",
                 of, table.capacity, table.name, more, table.name, table.bound);
}

std::uint64_t ReceiveLog::growth(const std::string& of, std::uint64_t value) {
    return value - std::exchange(seen_[of], value);
}

}  // namespace millpond::gateway
