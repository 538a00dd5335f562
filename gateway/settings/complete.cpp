#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <net/if.h>

#include <millpond/market/quote_board.hpp>

#include "gateway/settings/config.hpp"
#include "gateway/settings/symbol_names.hpp"
#include "gateway/settings/value.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "service/listening.hpp"
#include "service/settings/errors.hpp"
#include "service/time_zone.hpp"
#include "service/token.hpp"
#include "service/writable_folder.hpp"

namespace millpond::gateway {
namespace {

using service::named;
using settings::Errors;

/// Refuses the second use of a name or address.
class Unique {
public:
    explicit Unique(std::string_view what) : what_(what) {}
    void add(const std::string& value, std::string_view user) {
        if (!seen_.insert(value).second) {
            throw ConfigError(fmt::format("{}: {} '{}' is used twice", user, what_, value));
        }
    }

    /// Registers an address. Port 0 is a different port each time.
    void add(const net::SocketAddress& address, std::string_view user, std::string_view interface = {}) {
        if (address.port() != 0)
            add(fmt::format("{}{}{}", address.to_string(), interface.empty() ? "" : "%", interface), user);
    }

private:
    std::string_view what_;
    std::set<std::string> seen_;
};

// Prefixes of messages.
std::string user_of(const RingConfig& ring) { return ring.origin.prefix() + "[[ring]]"; }
std::string user_of(const CompositeConfig& composite) {
    return fmt::format("{}[[composite]] '{}'", composite.origin.prefix(), composite.venue);
}
std::string user_of(const FeedConfig& feed) {
    return feed.origin.prefix() + (feed.name.empty() ? "[[feed]]" : fmt::format("[[feed]] '{}'", feed.name));
}

void check_ring_name(const RingConfig& ring) {
    constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (ring.name.find_first_not_of(kAllowed) == std::string::npos) return;
    throw ConfigError(
        fmt::format("{}: name '{}' may hold letters, digits, '-' and '_' only", user_of(ring), ring.name));
}

void complete_rings(Config& config, Errors& errors) {
    if (config.rings.empty()) config.rings.emplace_back();
    Unique names{"name"};
    for (auto& ring : config.rings) {
        const auto check = [&](auto&& work) { ring.origin.is_bad |= !errors.check(work); };
        if (!ring.origin.has_not_read("name")) {
            check([&] { names.add(ring.name, user_of(ring)); });
            check([&] { check_ring_name(ring); });
        }
        if (!ring.poll) ring.poll = config.poll;
        if (!ring.pin) ring.pin = config.pin;
        ring.realtime = config.realtime;
    }
}

void choose_ring(const Config& config, std::string_view user, std::string& ring) {
    if (ring.empty()) ring = config.rings.front().name;
    const bool may_exist = std::ranges::any_of(
        config.rings, [&](const RingConfig& one) { return one.name == ring || one.origin.has_not_read("name"); });
    if (!may_exist) throw ConfigError(fmt::format("{}: ring '{}' does not exist", user, ring));
}

void check_source(const net::SocketAddress& listen, const net::SocketAddress& source, std::string_view key,
                  const std::string& user) {
    if (source.empty() || listen.is_multicast()) return;
    throw ConfigError(fmt::format("{}: {} needs a multicast group, and {} is none", user, key, listen.to_string()));
}

/// Checks the keys of a feed that receives by TCP, where the kernel keeps order and loses nothing.
void check_connection(const FeedConfig& feed, const std::string& user) {
    if (!feed.format.kind().connects())
        throw ConfigError(
            fmt::format("{}: connect: {} feeds are received as datagrams only", user, feed.format.name()));
    if (feed.connect.port() == 0 || feed.connect.is_multicast()) {
        throw ConfigError(
            fmt::format("{}: connect '{}' is not the address of a server", user, feed.connect.to_string()));
    }
    const FeedConfig defaults;
    const auto refuse = [&](bool is_set, std::string_view key) {
        if (is_set) throw ConfigError(fmt::format("{}: {}: not with connect", user, key));
    };
    refuse(!feed.listen.empty(), "listen");
    refuse(!feed.line_b.empty(), "line_b");
    refuse(!feed.source.empty(), "source");
    refuse(!feed.interface.empty(), "interface");
    refuse(feed.receive == net::ReceivePath::af_xdp, "receive");
    refuse(feed.nic_time != defaults.nic_time, "nic_time");
    refuse(feed.reorder_us != defaults.reorder_us, "reorder_us");
}

void complete_lines(FeedConfig& feed, const std::string& user) {
    if (feed.line_b.empty() && !(feed.source_b.empty() && feed.interface_b.empty()))
        throw ConfigError(user + ": source_b or interface_b, but no line_b");
    if (!feed.line_b.empty() && !feed.format.kind().sequenced()) {
        throw ConfigError(fmt::format("{}: line_b: {} has no sequence numbers, so its lines cannot be merged", user,
                                      feed.format.name()));
    }
    if (feed.receive != net::ReceivePath::af_xdp) {
        const auto refuse = [&](bool is_set, std::string_view key) {
            if (is_set) throw ConfigError(fmt::format("{}: {}: only with receive = \"af_xdp\"", user, key));
        };
        refuse(feed.zero_copy != FeedConfig{}.zero_copy, "zero_copy");
        refuse(feed.checksum != FeedConfig{}.checksum, "checksum");
        if (feed.vlan != 0)
            throw ConfigError(user + ": vlan: only with receive = \"af_xdp\"; otherwise use the VLAN's own interface");
    }
    if (feed.receive == net::ReceivePath::af_xdp && feed.receive_want == Wanted::require && feed.interface.empty())
        throw ConfigError(user + ": receive = \"af_xdp\" with receive_want = \"require\" needs interface");
    feed.format.complete(feed, user);
    if (feed.source_b.empty()) feed.source_b = feed.source;
    if (feed.interface_b.empty()) feed.interface_b = feed.interface;
    check_source(feed.listen, feed.source, "source", user);
    if (!feed.line_b.empty()) check_source(feed.line_b, feed.source_b, "source_b", user);
}

void complete_feeds(Config& config, Errors& errors) {
    if (config.feeds.size() > std::numeric_limits<std::uint16_t>::max()) {
        return errors.add("[[feed]]: too many feeds");
    }
    Unique names{"name"};
    Unique addresses{"address"};
    Unique channels{"channel"};
    for (std::size_t i = 0; i < config.feeds.size(); ++i) {
        auto& feed = config.feeds[i];
        const bool was_bad = feed.origin.is_bad;
        // Each is checked also if another one fails. A key that could not be read has its default, which is valid.
        const auto check = [&](auto&& work) { feed.origin.is_bad |= !errors.check(work); };
        const auto& address = feed.connect.empty() ? feed.listen : feed.connect;
        if (feed.name.empty() && !address.empty()) feed.name = address.to_string();
        const auto user = user_of(feed);
        check([&] { choose_ring(config, user, feed.ring); });
        if (!feed.name.empty()) check([&] { names.add(feed.name, user); });
        if (!feed.listen.empty()) check([&] { addresses.add(feed.listen, user, feed.interface); });
        check([&] {
            if (service::is_time_zone(feed.timezone)) return;
            throw ConfigError(fmt::format("{}: timezone '{}' is not in the zone database", user, feed.timezone));
        });
        if (was_bad) continue;
        if (!feed.channel) feed.channel = static_cast<std::uint16_t>(i);
        if (!feed.connect.empty()) check([&] { check_connection(feed, user); });
        if (!feed.receive) feed.receive = feed.connect.empty() ? config.receive : net::ReceivePath::socket;
        feed.receive_want = config.receive_want;
        feed.state = config.state;
        check([&] { channels.add(fmt::format("{}", *feed.channel), user); });
        check([&] {
            if (feed.listen.empty() && feed.connect.empty()) throw ConfigError(user + ": key 'listen' is missing");
            complete_lines(feed, user);
            if (!feed.line_b.empty()) addresses.add(feed.line_b, user, feed.interface_b);
        });
    }
}

/// Refuses feeds of two formats at one server whose requests do not name the format.
void check_snapshot_servers(const Config& config, Errors& errors) {
    std::map<std::string, const FeedConfig*> feeds;  // by server
    for (const auto& feed : config.feeds) {
        const auto server = feed.origin.is_bad ? net::SocketAddress{} : feed.format.snapshot_server();
        if (server.empty()) continue;
        const auto& first = *feeds.try_emplace(server.to_string(), &feed).first->second;
        if (first.format.name() == feed.format.name()) continue;
        errors.add(
            fmt::format("{}: snap '{}': is the server of feed '{}', which is {}, and a request does not say "
                        "which of both it is for: use a server for each",
                        user_of(feed), server.to_string(), first.name, first.format.name()));
    }
}

/// Fills in the feeds of a composite, and refuses those that cannot take part.
void check_composite_feeds(const Config& config, CompositeConfig& composite, const std::string& user) {
    if (composite.feeds.empty()) {
        for (const auto& feed : config.feeds) {
            if (feed.ring == composite.ring) composite.feeds.push_back(feed.name);
        }
    }
    std::set<std::string> venues;
    std::set<std::string> names;
    for (const auto& name : composite.feeds) {
        const auto refuse = [&](const std::string& why) {
            throw ConfigError(fmt::format("{}: feed '{}' {}", user, name, why));
        };
        const auto feed = std::ranges::find(config.feeds, name, &FeedConfig::name);
        if (feed == config.feeds.end()) refuse("does not exist");
        if (!names.insert(name).second) refuse("is named twice");
        if (feed->origin.is_bad) continue;
        if (feed->ring != composite.ring)
            refuse(fmt::format("publishes to ring '{}', not to '{}'", feed->ring, composite.ring));
        if (feed->format.kind().carries_venues())
            refuse(fmt::format("has format {}, whose instruments may be of several venues", feed->format.name()));
        const auto venue = venue_of(*feed);
        if (venue.empty()) refuse("has no venue: set its key 'venue'");
        if (venue == composite.venue) refuse(fmt::format("has the venue '{}' of the composite", venue));
        if (*feed->channel >= feed::kMaxCompositeChannels)
            refuse(fmt::format("has channel {}; a composite needs one below {}", *feed->channel,
                               feed::kMaxCompositeChannels));
        const auto depth = feed->format.depth().depth;
        if (composite.depth != 0 && depth == feed::kFullDepth)
            refuse(
                fmt::format("has depth \"full\"; levels of a composite need a number, at least {}", composite.depth));
        if (depth < composite.depth) refuse(fmt::format("has depth {}, the composite {}", depth, composite.depth));
        venues.insert(venue);
    }
    if (composite.feeds.size() < 2)
        throw ConfigError(fmt::format("{}: needs at least two feeds of ring '{}'", user, composite.ring));
    const bool all_known = std::ranges::none_of(config.feeds, [](const auto& feed) { return feed.origin.is_bad; });
    if (all_known && venues.size() < 2)
        throw ConfigError(fmt::format("{}: all its feeds have the venue '{}'", user, *venues.begin()));
}

void complete_composites(Config& config, Errors& errors) {
    std::set<std::uint16_t> channels;
    for (const auto& feed : config.feeds) {
        if (feed.channel) channels.insert(*feed.channel);
    }
    Unique venues{"venue"};
    for (auto& composite : config.composites) {
        const bool was_bad = composite.origin.is_bad;
        const auto check = [&](auto&& work) { composite.origin.is_bad |= !errors.check(work); };
        const auto user = user_of(composite);
        check([&] { choose_ring(config, user, composite.ring); });
        check([&] { venues.add(composite.venue, user); });
        if (was_bad) continue;
        check([&] { check_composite_feeds(config, composite, user); });
        check([&] {
            if (!composite.channel) {
                const auto next = channels.empty() ? 0U : *channels.rbegin() + 1U;
                if (next > std::numeric_limits<std::uint16_t>::max())
                    throw ConfigError(user + ": no channel is left after those of the feeds: set 'channel'");
                composite.channel = static_cast<std::uint16_t>(next);
            }
            if (!channels.insert(*composite.channel).second)
                throw ConfigError(fmt::format("{}: channel '{}' is used twice", user, *composite.channel));
        });
    }
    if (config.composites.empty() && !config.symbols.file.empty())
        errors.add("[symbols]: only with a [[composite]], which uses its names");
}

/// Refuses rings that could not hold what their feeds publish while the thread of a reader does not run.
void check_capacities(const Config& config, Errors& errors) {
    constexpr std::uint64_t kMessages = 2'000;  // 200,000 in a second, for 10 ms
    for (const auto& ring : config.rings) {
        if (ring.origin.is_bad) continue;
        market::ChannelDepth sent;
        for (const auto& feed : config.feeds) {
            if (feed.origin.is_bad || feed.ring != ring.name) continue;
            const auto depth = feed.format.depth();
            sent.depth = std::max(sent.depth, depth.depth);
            sent.orders = sent.orders || depth.orders;
        }
        if (!sent.is_on()) continue;
        // A message may replace an order: a quote and a trade; three levels, of which one enters the depth; two orders.
        const auto entries = 2 + (sent.depth != 0 ? 3U : 0U) + (sent.orders ? 2U : 0U);
        const auto needed = std::bit_ceil(kMessages * entries);
        if (ring.capacity >= needed) continue;
        errors.add(fmt::format(
            "{}: capacity {} is too small for the depth or orders of its feeds: needs {} entries, 10 ms of 200000 "
            "messages a second with up to {} entries each",
            user_of(ring), ring.capacity, needed, entries));
    }
}

/// A file or folder that an output writes.
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

/// Whether a RotatedFile at `path` could rename a file to this name, or remove it.
bool is_renamed(const std::filesystem::path& name, const std::filesystem::path& path) {
    const auto text = name.string();
    const auto prefix = path.string() + ".";
    if (!text.starts_with(prefix)) return false;
    const auto number = std::string_view{text}.substr(prefix.size());
    return number.substr(0, number.find_first_not_of("0123456789")) == number && !number.empty();
}

/// What a sink writes, as far as its keys could be read.
std::vector<SinkOutput> known_outputs(const SinkConfig& sink, const Config& config) {
    auto completed = sink;
    if (sink.origin.is_bad) {  // its errors are reported already
        try {
            completed.complete({.user = {}, .sinks = config.sinks});
        } catch (const ConfigError&) {
            return {};
        }
    }
    auto outputs = completed.outputs();
    std::erase_if(outputs, [&](const SinkOutput& output) {
        return std::ranges::any_of(output.keys, [&](std::string_view key) { return sink.origin.has_not_read(key); });
    });
    return outputs;
}

/// Refuses outputs that write the same file or folder, or a file that another output renames or removes.
void check_paths(const Config& config, Errors& errors) {
    std::vector<Place> folders;
    std::vector<Place> files;
    for (const auto& sink : config.sinks) {
        for (const auto& output : known_outputs(sink, config)) {
            if (!output.folder.empty()) folders.emplace_back(output.folder, sink.title(), sink.origin.prefix());
            if (!output.file.empty()) files.emplace_back(output.file, sink.title(), sink.origin.prefix());
        }
    }
    if (!config.capture.empty()) folders.emplace_back(config.capture, "the capture", "");
    const auto refuse = [&](const Place& place, std::string_view what, const Place& other) {
        errors.add(fmt::format("{}{}: path '{}' {} {}; choose another one", place.origin, place.user, place.written,
                               what, other.user));
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

/// Refuses udp sinks that send to a feed of this gateway: the datagrams would circulate forever.
void check_loops(const Config& config, Errors& errors) {
    const auto reaches = [](const SinkOutput& output, const net::SocketAddress& feed, const std::string& interface) {
        const bool apart = !output.interface.empty() && !interface.empty() && output.interface != interface;
        if (output.to.empty() || output.to.port() != feed.port() || apart) return false;
        return output.to == feed || (feed.is_wildcard() && output.to.is_loopback());
    };
    for (const auto& sink : config.sinks) {
        for (const auto& output : known_outputs(sink, config)) {
            for (const auto& feed : config.feeds) {
                if (feed.origin.is_bad) continue;
                if (!reaches(output, feed.listen, feed.interface) &&
                    (feed.line_b.empty() || !reaches(output, feed.line_b, feed.interface_b)))
                    continue;
                errors.add(fmt::format("{}: it would send to feed '{}' of this gateway, at {}", sink.user(), feed.name,
                                       output.name));
            }
        }
    }
}

/// Refuses sinks that need more levels than a feed of their ring sends.
void check_depths(const Config& config, Errors& errors) {
    for (const auto& sink : config.sinks) {
        if (sink.origin.is_bad || sink.depth() == 0) continue;
        bool is_known = true;
        bool has_feed = false;
        std::uint32_t deepest = 0;
        for (const auto& feed : config.feeds) {
            is_known = is_known && !feed.origin.is_bad;
            if (feed.origin.is_bad || feed.ring != sink.basics().ring) continue;
            has_feed = true;
            const auto sent = feed.format.depth().depth;
            deepest = std::max(deepest, sent);
            if (sent == 0 || sent >= sink.depth()) continue;
            errors.add(fmt::format("{}: needs {} levels of a side, but feed '{}' sends {}: raise its depth",
                                   sink.user(), sink.depth(), feed.name, sent));
        }
        if (!is_known || !has_feed || deepest != 0) continue;
        errors.add(fmt::format("{}: needs {} levels of a side, but no feed of ring '{}' has depth", sink.user(),
                               sink.depth(), sink.basics().ring));
    }
}

void complete_sinks(Config& config, Errors& errors) {
    const auto place = [&](const SinkConfig& sink) {
        return std::ranges::find(config.sink_kinds, &sink.kind()) - config.sink_kinds.begin();
    };
    std::ranges::stable_sort(config.sinks, {}, place);
    Unique names{"name"};
    Unique outputs{"output"};
    for (auto& sink : config.sinks) {
        const bool was_bad = sink.origin.is_bad;
        const auto user = sink.user();
        const auto check = [&](auto&& work) { sink.origin.is_bad |= !errors.check(work); };
        if (!sink.origin.has_not_read("name")) check([&] { names.add(sink.name(), user); });
        check([&] { choose_ring(config, user, sink.basics().ring); });
        if (!was_bad) check([&] { sink.complete({.user = user, .sinks = config.sinks}); });
        for (const auto& output : known_outputs(sink, config)) check([&] { outputs.add(output.name, user); });
    }
    if (!config.metrics.empty()) errors.check([&] { outputs.add(config.metrics, "metrics"); });
    check_paths(config, errors);
    check_loops(config, errors);
    check_depths(config, errors);
}

}  // namespace

std::string venue_of(const FeedConfig& feed) {
    return feed.venue.empty() ? feed.format.kind().default_venue() : feed.venue;
}

void complete(Config& config) {
    Errors errors;
    complete_rings(config, errors);
    complete_feeds(config, errors);
    check_snapshot_servers(config, errors);
    complete_composites(config, errors);
    check_capacities(config, errors);
    complete_sinks(config, errors);
    errors.throw_if_any();
}

void check_runnable(const Config& config) {
    if (config.feeds.empty()) throw ConfigError("no [[feed]]: a gateway needs at least one");
}

void check_start(const Config& config) {
    Errors errors;
    errors.check([&] { static_cast<void>(service::Token{config.admin_token}); });
    if (!config.metrics.empty()) {
        errors.check([&] { named("metrics", [&] { service::check_listen_host(config.metrics); }); });
    }
    if (!config.capture.empty()) {
        errors.check([&] { named("capture", [&] { service::need_writable_folder(config.capture); }); });
    }
    if (!config.state.empty()) {
        errors.check([&] { named("state", [&] { service::need_writable_folder(config.state); }); });
    }
    errors.check([&] { static_cast<void>(SymbolNames::read(config)); });
    for (const auto& feed : config.feeds) {
        for (const auto& interface : {feed.interface, feed.interface_b}) {
            if (interface.empty() || if_nametoindex(interface.c_str()) != 0) continue;
            errors.add(fmt::format("{}: interface '{}' does not exist", user_of(feed), interface));
        }
        errors.check([&] { named(user_of(feed), [&] { feed.format.check(); }); });
    }
    for (const auto& sink : config.sinks) {
        if (sink.origin.is_bad) continue;
        errors.check([&] {
            const auto prepared = sink.prepare();
            named(sink.user(), [&] { prepared->check(); });
        });
    }
    errors.throw_if_any();
}

std::vector<std::string> warnings(const Config& config) {
    std::vector<std::string> all;
    if (const auto text = metrics_exposure(config); !text.empty()) all.push_back("metrics: " + text);
    for (const auto& sink : config.sinks) {
        if (const auto text = sink.exposure(); !text.empty()) all.push_back(fmt::format("{}: {}", sink.user(), text));
    }
    return all;
}

std::string metrics_exposure(const Config& config) { return service::exposure(config.metrics); }

}  // namespace millpond::gateway
