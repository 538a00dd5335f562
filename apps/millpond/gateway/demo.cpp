#include "apps/millpond/gateway/demo.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/files/file_kind.hpp>
#include <millpond/market/ring_writer.hpp>
#include <millpond/net/udp_sender.hpp>

#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/traffic/capture_format.hpp"
#include "apps/millpond/traffic/clock.hpp"
#include "apps/millpond/traffic/generated_source.hpp"
#include "apps/millpond/traffic/itch_source.hpp"
#include "apps/millpond/traffic/pcap_source.hpp"
#include "apps/millpond/traffic/speed.hpp"
#include "apps/millpond/traffic/transmitter.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"

namespace millpond::app {
namespace {

constexpr std::string_view kFeedName = "demo";

bool is_itch(const DemoOptions& options) { return files::file_kind(options.file) == files::FileKind::itch; }

/// Returns the format of the feed. Throws UsageError if options.format is a different one.
std::string format_of(const DemoOptions& options) {
    if (!options.file.empty() && !is_itch(options)) return format_of_capture(options.file, options.format);
    constexpr std::string_view kFormat = "itch";
    if (options.format.empty() || options.format == kFormat) return std::string{kFormat};
    const auto feed = options.file.empty() ? std::string{"the generated market"} : "'" + options.file + "'";
    throw UsageError(fmt::format("--format {}: {} is of format {}", options.format, feed, kFormat));
}

std::unique_ptr<traffic::Source> open_file(const DemoOptions& options, double speed) {
    if (is_itch(options)) {
        constexpr double kHeartbeatNanos = 1e9;
        const traffic::ItchSource::Options itch{.heartbeat_ns = static_cast<std::int64_t>(kHeartbeatNanos * speed)};
        return std::make_unique<traffic::ItchSource>(options.file, itch);
    }
    return std::make_unique<traffic::PcapSource>(options.file);
}

/// Generates a market whose times begin now.
std::unique_ptr<traffic::Source> generated_market(const DemoOptions& options) {
    const auto now = core::utc_nanos();
    // Sends due datagrams every 2 ms: waking for each datagram would cost each thread several times as much.
    constexpr double kBurstsPerSecond = 500;
    constexpr double kMaxAtOnce = 1'000;
    const auto burst = static_cast<std::uint64_t>(std::clamp(options.rate / kBurstsPerSecond, 1.0, kMaxAtOnce));
    traffic::GeneratedSource::Options generated{.steps_per_second = options.rate, .burst = burst, .begin_utc_ns = now};
    constexpr std::size_t kOrders = 12;
    generated.feed.format = feed::WireFormat::itch;
    generated.feed.orders = kOrders;
    generated.feed.session = static_cast<std::uint64_t>(now);
    return std::make_unique<traffic::GeneratedSource>(generated);
}

bool is_free(const net::SocketAddress& address) {
    sockaddr_storage raw{};
    const auto length = address.to_kernel(raw);
    const core::Descriptor probe{socket(raw.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int on = 1;
    setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(probe.get(), reinterpret_cast<const sockaddr*>(&raw), length) == 0;
}

/// Returns the address, or the next one with a free port that is not in `given`; reports a change.
net::SocketAddress free_from(const net::SocketAddress& wanted, std::string_view what, std::set<std::string>& given) {
    constexpr int kMaxTries = 100;
    for (int i = 0; i < kMaxTries; ++i) {
        const auto candidate = net::SocketAddress::parse(fmt::format("{}:{}", wanted.host(), wanted.port() + i));
        if (!is_free(candidate) || !given.insert(candidate.to_string()).second) continue;
        if (i != 0) {
            to_stderr("millpond: demo: {} is in use, so {} is at {}\n", wanted.to_string(), what,
                      candidate.to_string());
        }
        return candidate;
    }
    return wanted;
}

/// Returns "demo", or "demo-2" and so on if other processes use that ring; reports a change.
std::string free_ring() {
    constexpr std::string_view kWanted = "demo";
    constexpr int kMaxTries = 100;
    std::string name{kWanted};
    for (int i = 2; i <= kMaxTries && !market::RingWriter::is_free(name); ++i) name = fmt::format("{}-{}", kWanted, i);
    if (name != kWanted) to_stderr("millpond: demo: ring '{}' is in use, so the ring is '{}'\n", kWanted, name);
    return name;
}

net::SocketAddress address_of_feed(const gateway::Gateway& gateway) {
    net::SocketAddress address;
    for (const auto& pipeline : gateway.pipelines()) {
        pipeline->for_each_feed([&](const auto& feed) {
            if (feed.config().name == kFeedName) address = feed.receiver().report().local;
        });
    }
    return address;
}

}  // namespace

void DemoOptions::add_to(Arguments& options) {
    options.add_option("--replay", file, "pcap or ITCH file to replay instead of the generated market")
        ->type_name("FILE");
    options.add_option("--speed", speed, "of the file: 1 as recorded, N times as fast, or max")
        ->type_name("N|max")
        ->check(speed_check())
        ->capture_default_str();
    std::vector<std::string_view> formats;
    for (const auto* one : gateway::builtin_feed_formats()) formats.push_back(one->name());
    options.add_option("--format", format, "of a pcap's datagrams, if it cannot be detected")
        ->type_name(fmt::format("{}", fmt::join(formats, "|")));
    options.add_option("--rate", rate, "quotes per second of the generated market")
        ->check(number_between(1e-3, 1e9))
        ->capture_default_str();
}

gateway::Config demo_defaults() {
    gateway::Config config;
    config.poll = core::Poll::block;
    return config;
}

void add_demo_feed(const DemoOptions& options, const std::filesystem::path& folder, gateway::Config& config) {
    const auto format = format_of(options);
    auto feed = fmt::format("name={},listen=127.0.0.1:0,format={}", kFeedName, format);
    if (format == "itch") feed += ",depth=10,orders=true";
    if (options.file.empty()) feed += ",venue=SIM,timezone=UTC";
    gateway::read_table_flag("feed", feed, config);
    if (config.rings.empty()) config.rings.emplace_back().name = free_ring();
    std::set<std::string> given;
    if (config.metrics == gateway::Config{}.metrics) config.metrics = free_from(config.metrics, "metrics", given);
    if (config.first<gateway::tcp::Settings>() == nullptr) {
        auto& tcp = config.add<gateway::tcp::Settings>();
        tcp.listen = free_from(tcp.listen, "the tcp sink", given);
        tcp.poll = core::Poll::block;
    }
    if (config.first<gateway::web::Settings>() == nullptr) {
        auto& web = config.add<gateway::web::Settings>();
        web.listen = free_from(web.listen, "the page", given);
        web.poll = core::Poll::block;
    }
    if (config.first<gateway::csv::Settings>() == nullptr) {
        auto& csv = config.add<gateway::csv::Settings>();
        csv.path = (folder / "quotes.csv").string();
        csv.mode = gateway::Delivery::conflate;
        csv.flush = std::chrono::seconds{1};
    }
}

net::SocketAddress free_address(const net::SocketAddress& wanted, std::string_view what) {
    std::set<std::string> given;
    return free_from(wanted, what, given);
}

Demo::Demo(const DemoOptions& options) : options_(options), speed_(parse_speed(options.speed)) {
    if (!options.file.empty()) source_ = open_file(options, speed_);
}

void Demo::begin(const gateway::Gateway& gateway) {
    thread_ = std::thread{[this, to = address_of_feed(gateway)] { run(to); }};
}

Demo::~Demo() {
    stop_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
}

void Demo::run(net::SocketAddress to) try {
    net::UdpSender sender{{.to = to}};
    traffic::MonotonicClock clock;
    traffic::Transmitter transmitter{sender, clock, {.speed = speed_}};
    if (!source_) source_ = generated_market(options_);
    const bool all = transmitter.run(*source_, stop_);
    if (const auto error = source_->error(); !error.empty()) to_stderr("millpond: demo: {}\n", error);
    if (all) to_stderr("millpond: demo: end of the feed after {} datagrams\n", transmitter.sent().datagrams);
} catch (const std::exception& error) {
    to_stderr("millpond: demo: {}\n", error.what());
}

}  // namespace millpond::app
