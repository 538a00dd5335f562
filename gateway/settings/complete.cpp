#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/settings/config.hpp"
#include "gateway/settings/value.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "service/token.hpp"

namespace millpond::gateway {
namespace {

/// Refuses the second use of a name or address.
class Unique {
public:
    explicit Unique(std::string_view what) : what_(what) {}
    void add(const std::string& value, std::string_view user) {
        if (!seen_.insert(value).second) {
            throw ConfigError(fmt::format("{}: {} '{}' is used twice", user, what_, value));
        }
    }

    /// Port 0 is a different port each time.
    void add(const net::SocketAddress& address, std::string_view user, std::string_view interface = {}) {
        if (address.port() != 0)
            add(fmt::format("{}{}{}", address.to_string(), interface.empty() ? "" : "%", interface), user);
    }

private:
    std::string_view what_;
    std::set<std::string> seen_;
};

// The start of messages.
std::string user_of(const RingConfig& ring) { return ring.origin.prefix() + "[[ring]]"; }
std::string user_of(const FeedConfig& feed) {
    return feed.origin.prefix() + (feed.name.empty() ? "[[feed]]" : fmt::format("[[feed]] '{}'", feed.name));
}

void complete_rings(Config& config) {
    if (config.rings.empty()) config.rings.emplace_back();
    Unique names{"name"};
    for (auto& ring : config.rings) {
        names.add(ring.name, user_of(ring));
        if (ring.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
            std::string::npos) {
            throw ConfigError(
                fmt::format("{}: name '{}' may hold letters, digits, '-' and '_' only", user_of(ring), ring.name));
        }
        if (!ring.poll) ring.poll = config.poll;
        if (!ring.pin) ring.pin = config.pin;
        if (!ring.realtime) ring.realtime = config.realtime;
    }
}

void choose_ring(const Config& config, std::string_view user, std::string& ring) {
    if (ring.empty()) ring = config.rings.front().name;
    const bool exists = std::any_of(config.rings.begin(), config.rings.end(),
                                    [&](const RingConfig& candidate) { return candidate.name == ring; });
    if (!exists) throw ConfigError(fmt::format("{}: ring '{}' does not exist", user, ring));
}

void check_source(const net::SocketAddress& listen, const net::SocketAddress& source, std::string_view key,
                  const std::string& user) {
    if (source.empty() || listen.is_multicast()) return;
    throw ConfigError(fmt::format("{}: {} needs a multicast group, and {} is none", user, key, listen.to_string()));
}

void complete_lines(FeedConfig& feed, const std::string& user) {
    if (feed.line_b.empty() && !(feed.source_b.empty() && feed.interface_b.empty()))
        throw ConfigError(user + ": source_b or interface_b, but no line_b");
    if (!feed.line_b.empty() && !feed.format->sequenced()) {
        throw ConfigError(fmt::format("{}: line_b: {} has no sequence numbers, so its lines cannot be merged", user,
                                      feed.format->name()));
    }
    if (feed.vlan != 0 && feed.receive != net::ReceivePath::af_xdp)
        throw ConfigError(user + ": vlan: only with receive = \"af_xdp\"; otherwise use the VLAN's own interface");
    if (feed.receive == net::ReceivePath::af_xdp && feed.receive_want == Wanted::require && feed.interface.empty())
        throw ConfigError(user + ": receive = \"af_xdp\" with receive_want = \"require\" needs interface");
    for (const auto& settings : feed.settings) {
        if (&settings.format() != feed.format) settings.check_unused(user);
    }
    feed.chosen().complete(feed, user);
    if (feed.source_b.empty()) feed.source_b = feed.source;
    if (feed.interface_b.empty()) feed.interface_b = feed.interface;
    check_source(feed.listen, feed.source, "source", user);
    if (!feed.line_b.empty()) check_source(feed.line_b, feed.source_b, "source_b", user);
    if (feed.reorder_datagrams == 0) feed.reorder_datagrams = FeedConfig::kHeldForLine;
}

void complete_feeds(Config& config) {
    if (config.feeds.size() > std::numeric_limits<std::uint16_t>::max()) throw ConfigError("[[feed]]: too many feeds");
    Unique names{"name"};
    Unique addresses{"address"};
    Unique channels{"channel"};
    for (std::size_t i = 0; i < config.feeds.size(); ++i) {
        auto& feed = config.feeds[i];
        if (feed.listen.empty()) throw ConfigError(user_of(feed) + ": key 'listen' is missing");
        if (feed.name.empty()) feed.name = feed.listen.to_string();
        const auto user = user_of(feed);
        if (!feed.channel) feed.channel = static_cast<std::uint16_t>(i);
        choose_ring(config, user, feed.ring);
        if (!feed.receive) feed.receive = config.receive;
        if (!feed.receive_want) feed.receive_want = config.receive_want;
        names.add(feed.name, user);
        addresses.add(feed.listen, user, feed.interface);
        complete_lines(feed, user);
        if (!feed.line_b.empty()) addresses.add(feed.line_b, user, feed.interface_b);
        channels.add(fmt::format("{}", *feed.channel), user);
        try {
            date::locate_zone(feed.timezone);
        } catch (const std::runtime_error&) {
            throw ConfigError(fmt::format("{}: timezone '{}' is not in the zone database", user, feed.timezone));
        }
    }
}

/// What one of several outputs writes to.
struct Place {
    Place(const std::filesystem::path& as_written, std::string whose, std::string at)
        : path(canonical_path(as_written)),
          written(as_written.string()),
          user(std::move(whose)),
          origin(std::move(at)) {}
    std::filesystem::path path;
    std::string written;
    std::string user;
    std::string origin;
};

/// Whether a file of this name is one that a RotatedFile at `path` could rename itself to, or remove.
bool is_renamed(const std::filesystem::path& name, const std::filesystem::path& path) {
    const auto text = name.string();
    const auto prefix = path.string() + ".";
    if (!text.starts_with(prefix)) return false;
    const auto number = std::string_view{text}.substr(prefix.size());
    return number.substr(0, number.find_first_not_of("0123456789")) == number && !number.empty();
}

/// No two outputs write the same file or folder, and none writes files that another renames or removes.
void check_paths(const Config& config) {
    std::vector<Place> folders;
    std::vector<Place> files;
    for (const auto& sink : config.sinks) {
        for (const auto& output : sink.outputs()) {
            if (!output.folder.empty()) folders.emplace_back(output.folder, sink.title(), sink.origin.prefix());
            if (!output.file.empty()) files.emplace_back(output.file, sink.title(), sink.origin.prefix());
        }
    }
    if (!config.capture.empty()) folders.emplace_back(config.capture, "the capture", "");
    const auto refuse = [](const Place& place, std::string_view what, const Place& other) {
        throw ConfigError(fmt::format("{}{}: path '{}' {} {}; choose another one", place.origin, place.user,
                                      place.written, what, other.user));
    };
    for (const auto& folder : folders) {
        for (const auto& other : folders) {
            if (&other < &folder && other.path == folder.path) refuse(folder, "is the folder of", other);
        }
        for (const auto& file : files) {
            if (file.path.parent_path() == folder.path) refuse(file, "is in the folder of", folder);
        }
    }
    for (const auto& file : files) {
        for (const auto& other : files) {
            if (&other < &file && other.path == file.path) refuse(file, "is the file of", other);
            if (is_renamed(file.path, other.path)) refuse(file, "is a name for the renamed files of", other);
        }
    }
}

/// Datagrams that return to the gateway that sends them would circulate forever.
void check_loops(const Config& config) {
    const auto reaches = [](const SinkOutput& output, const net::SocketAddress& feed, const std::string& interface) {
        const bool apart = !output.interface.empty() && !interface.empty() && output.interface != interface;
        if (output.to.empty() || output.to.port() != feed.port() || apart) return false;
        return output.to == feed || (feed.is_wildcard() && output.to.is_loopback());
    };
    for (const auto& sink : config.sinks) {
        for (const auto& output : sink.outputs()) {
            for (const auto& feed : config.feeds) {
                if (!reaches(output, feed.listen, feed.interface) &&
                    (feed.line_b.empty() || !reaches(output, feed.line_b, feed.interface_b)))
                    continue;
                throw ConfigError(fmt::format("{}: it would send to feed '{}' of this gateway, at {}", sink.user(),
                                              feed.name, output.name));
            }
        }
    }
}

void complete_sinks(Config& config) {
    const auto place = [&](const SinkConfig& sink) {
        return std::ranges::find(config.sink_kinds, &sink.kind()) - config.sink_kinds.begin();
    };
    std::ranges::stable_sort(config.sinks, {}, place);
    Unique names{"name"};
    Unique outputs{"output"};
    for (auto& sink : config.sinks) {
        const auto user = sink.user();
        sink.complete({.user = user, .sinks = config.sinks});
        choose_ring(config, user, sink.basics().ring);
        names.add(sink.name(), user);
        for (const auto& output : sink.outputs()) outputs.add(output.name, user);
    }
    if (!config.metrics.empty()) outputs.add(config.metrics, "metrics");
    check_paths(config);
    check_loops(config);
}

}  // namespace

void complete(Config& config) {
    complete_rings(config);
    complete_feeds(config);
    complete_sinks(config);
}

void check_runnable(const Config& config) {
    if (config.feeds.empty()) throw ConfigError("no [[feed]]: a gateway needs at least one");
}

void check_secrets(const Config& config) {
    static_cast<void>(service::Token{config.admin_token});
    for (const auto& sink : config.sinks) static_cast<void>(sink.prepare());
}

}  // namespace millpond::gateway
