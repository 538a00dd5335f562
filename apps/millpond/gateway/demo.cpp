#include "apps/millpond/gateway/demo.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/net/udp_sender.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/traffic/clock.hpp"
#include "apps/millpond/traffic/file_kind.hpp"
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
constexpr auto kFormatOfCaptures = "miax-tom";

bool is_itch(const DemoOptions& options) { return traffic::file_kind(options.file) == traffic::FileKind::itch; }

std::unique_ptr<traffic::Source> make_source(const DemoOptions& options, double speed) {
    if (!options.file.empty() && is_itch(options)) {
        constexpr double kHeartbeatNanos = 1e9;
        const traffic::ItchSource::Options itch{.heartbeat_ns = static_cast<std::int64_t>(kHeartbeatNanos * speed)};
        return std::make_unique<traffic::ItchSource>(options.file, itch);
    }
    if (!options.file.empty()) return std::make_unique<traffic::PcapSource>(options.file);
    const auto now = core::utc_nanos();
    // Sends every 2 ms all that is due: a wake-up for each datagram would cost each thread several times as much.
    constexpr double kBurstsPerSecond = 500;
    constexpr double kMostAtOnce = 1'000;
    const auto burst = static_cast<std::uint64_t>(std::clamp(options.rate / kBurstsPerSecond, 1.0, kMostAtOnce));
    traffic::GeneratedSource::Options generated{.steps_per_second = options.rate, .burst = burst, .begin_utc_ns = now};
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

/// The address, or one with the next port that is free and not in `given`, which it then logs.
net::SocketAddress free_from(const net::SocketAddress& wanted, std::string_view what, std::set<std::string>& given) {
    constexpr int kMostTries = 100;
    for (int i = 0; i < kMostTries; ++i) {
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

net::SocketAddress address_of_feed(const gateway::Gateway& gateway) {
    net::SocketAddress address;
    for (const auto& pipeline : gateway.pipelines()) {
        pipeline->for_each_feed([&](const auto& line) {
            if (line.config().name == kFeedName) address = line.receiver().report().local;
        });
    }
    return address;
}

}  // namespace

void DemoOptions::add_to(Arguments& options) {
    options.add_flag("--demo", on, "send the gateway a feed over loopback; TCP, CSV and web sinks are added");
    options.add_option("--demo-feed", file, "pcap or ITCH file to replay instead of the generated market")
        ->type_name("FILE");
    options.add_option("--demo-speed", speed, "of the file: 1 as recorded, N times as fast, or max")
        ->type_name("N|max")
        ->check(speed_check())
        ->capture_default_str();
    std::vector<std::string_view> formats;
    for (const auto* one : gateway::builtin_feed_formats()) formats.push_back(one->name());
    options.add_option("--demo-format", format, fmt::format("of a pcap's datagrams (default: {})", kFormatOfCaptures))
        ->type_name(fmt::format("{}", fmt::join(formats, "|")));
    options.add_option("--demo-rate", rate, "quotes per second of the generated market")
        ->check(number_between(1e-3, 1e9))
        ->capture_default_str();
}

DemoFolder::DemoFolder() {
    auto name = (std::filesystem::temp_directory_path() / "millpond-demo.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
}

DemoFolder::~DemoFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

gateway::Config demo_defaults() {
    gateway::Config config;
    config.poll = core::Poll::block;
    return config;
}

void add_demo_feed(const DemoOptions& options, const std::filesystem::path& folder, gateway::Config& config) {
    std::string format = "quotes";
    if (!options.file.empty()) format = is_itch(options) ? "itch" : kFormatOfCaptures;
    if (!options.format.empty()) format = options.format;
    gateway::read_table_flag("feed", fmt::format("name={},listen=127.0.0.1:0,format={}", kFeedName, format), config);
    if (config.rings.empty()) config.rings.emplace_back().name = "demo";
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
        csv.flush_ms = 1'000;
    }
}

Demo::Demo(const DemoOptions& options) : speed_(parse_speed(options.speed)), source_(make_source(options, speed_)) {}

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
    const bool all = transmitter.run(*source_, stop_);
    if (const auto error = source_->error(); !error.empty()) to_stderr("millpond: demo: {}\n", error);
    if (all) to_stderr("millpond: demo: end of the feed after {} datagrams\n", transmitter.sent().datagrams);
} catch (const std::exception& error) {
    to_stderr("millpond: demo: {}\n", error.what());
}

}  // namespace millpond::app
