#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <millpond/core/clock.hpp>
#include <millpond/feed/generated_feed.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/traffic/generated_source.hpp"
#include "apps/millpond/traffic/sending.hpp"
#include "apps/millpond/traffic/speed.hpp"
#include "apps/millpond/traffic/traffic_file.hpp"
#include "service/stop_signal.hpp"
#include "service/time_zone.hpp"

namespace millpond::app {
namespace {

/// 2025-01-02 14:30 UTC, a Thursday: an opening of the New York exchanges.
constexpr std::int64_t kFixedBeginUtcNs = 1'735'828'200'000'000'000;
constexpr std::int64_t kDayNanos = 86'400'000'000'000;

struct GenerateOptions {
    SendingOptions sending;
    std::string format{"quotes"};
    double rate{10'000};
    std::string speed{"1"};
    std::uint64_t symbols{100};
    std::uint64_t count{0};
    double duration_s{0};
    std::uint64_t pack{1};
    std::uint64_t burst{1};
    std::uint16_t channel{0};
    bool live{false};
    std::string out;
    std::string timezone{"America/New_York"};
};

feed::WireFormat parse_format(std::string name) {
    std::ranges::replace(name, '-', '_');
    if (const auto format = feed::wire_format(name)) return *format;
    throw UsageError("--format: '" + name +
                     "' is not one of bbo28, quotes, miax-tom, itch, iex-tops, iex-deep, iex-deep-plus");
}

std::int64_t midnight_of(const std::string& timezone, std::int64_t now_utc_ns) {
    try {
        return service::midnight_utc_ns(timezone, "", now_utc_ns);
    } catch (const std::runtime_error&) {
        throw UsageError("--timezone: '" + timezone + "' is not in the zone database");
    }
}

traffic::GeneratedSource::Options source_options(const GenerateOptions& options) {
    traffic::GeneratedSource::Options result;
    result.feed.format = parse_format(options.format);
    result.feed.market = {.seed = options.sending.faults.seed, .instruments = options.symbols};
    result.feed.steps_per_datagram = options.pack;
    result.feed.channel = options.channel;
    result.steps_per_second = options.rate;
    result.burst = options.burst;
    result.begin_utc_ns = kFixedBeginUtcNs;
    if (options.live) {
        result.begin_utc_ns = core::utc_nanos();
        if (result.feed.format == feed::WireFormat::itch) {
            // ITCH messages have the time since the exchange's midnight.
            result.begin_utc_ns += kDayNanos - midnight_of(options.timezone, result.begin_utc_ns) % kDayNanos;
        }
        result.feed.session = static_cast<std::uint64_t>(result.begin_utc_ns / 1'000'000);
    }
    const auto by_time = options.duration_s * options.rate;
    if (by_time > 0) result.max_steps = static_cast<std::uint64_t>(std::ceil(by_time));
    if (options.count != 0)
        result.max_steps = result.max_steps == 0 ? options.count : std::min(options.count, result.max_steps);
    return result;
}

/// Writes all datagrams with their times to a file, without waiting.
int write_file(const GenerateOptions& options) {
    if (options.count == 0 && options.duration_s == 0)
        throw UsageError("--out: a file must be finite; add --count or --duration");
    const auto& faults = options.sending.faults;
    if (faults.drop > 0 || faults.duplicate > 0 || faults.swap > 0)
        throw UsageError("--drop, --duplicate, --swap: only with --to; a file gets every datagram once");
    const auto source = source_options(options);
    auto kind = traffic::TrafficFile::pcap;
    if (options.out.ends_with(".itch")) kind = traffic::TrafficFile::messages;
    if (options.out.ends_with(".pcapng")) kind = traffic::TrafficFile::pcapng;
    if (kind == traffic::TrafficFile::messages && source.feed.format != feed::WireFormat::itch)
        throw UsageError("--out: '" + options.out + "' is a file of ITCH messages; add --format itch");
    traffic::GeneratedSource generated{source};
    const auto written = traffic::write_traffic(
        generated, options.out, {.kind = kind, .begin_utc_ns = source.begin_utc_ns}, service::stop_on_signal());
    fmt::print("{}: {} datagrams, {} messages, {} bytes\n", options.out, written.datagrams, written.messages,
               written.bytes);
    return written.complete ? 0 : 1;
}

int generate(const GenerateOptions& options) {
    if (options.sending.to.empty() == options.out.empty())
        throw UsageError("generate: give either --to ADDRESS:PORT or --out FILE");
    if (!options.out.empty()) return write_file(options);
    traffic::GeneratedSource source{source_options(options)};
    Sending sending{options.sending, parse_speed(options.speed)};
    sending.send(source);
    sending.finish(true);
    return 0;
}

}  // namespace

Command generate_command(Arguments& program) {
    auto* command =
        program.add_subcommand("generate", "Send a generated market at a given rate, or write it to a file.");
    command->footer(
        "Examples:\n"
        "  millpond generate --to 127.0.0.1:14000 --format quotes --rate 50000 --symbols 500\n"
        "  millpond generate --to 239.1.1.1:14000 --format itch --rate 20000 --duration 60 --live\n"
        "  millpond generate --to 127.0.0.1:14000 --count 100000 --speed max --drop 0.001 --duplicate 0.001 --swap "
        "0.001\n"
        "  millpond generate --out day.itch --format itch --count 1000000 --symbols 2000\n"
        "  millpond generate --out day.pcap --format quotes --duration 60");
    auto options = std::make_shared<GenerateOptions>();
    command
        ->add_option("--format", options->format,
                     "bbo28, quotes, miax-tom, itch (over MoldUDP64), iex-tops, iex-deep or iex-deep-plus")
        ->type_name("FORMAT")
        ->capture_default_str();
    command->add_option("--rate", options->rate, "changes of the best bid or offer per second")
        ->check(number_between(1e-3, 1e9))
        ->capture_default_str();
    command->add_option("--speed", options->speed, "N times that rate, or max: as fast as possible")
        ->check(speed_check())
        ->type_name("N|max")
        ->capture_default_str();
    command->add_option("--symbols", options->symbols, "instruments")
        ->check(whole_number(1, feed::GeneratedMarket::kMaxInstruments))
        ->capture_default_str();
    command->add_option("--count", options->count, "end after this many changes (0: by --duration or Ctrl-C)")
        ->check(whole_number())
        ->capture_default_str();
    command->add_option("--duration", options->duration_s, "end after this many seconds at this rate (0: never)")
        ->check(number_between(0, 1e9))
        ->capture_default_str();
    command->add_option("--pack", options->pack, "changes in each datagram, if they fit")
        ->check(whole_number(1, 1000))
        ->capture_default_str();
    command->add_option("--burst", options->burst, "datagrams sent together; the rate is the same")
        ->check(whole_number(1, 1'000'000))
        ->capture_default_str();
    command->add_option("--channel", options->channel, "channel number in quotes datagrams")
        ->check(whole_number(0, UINT16_MAX))
        ->capture_default_str();
    command->add_flag("--live", options->live,
                      "current times and a new session, for a running gateway; without it every run is the same");
    command
        ->add_option("--timezone", options->timezone,
                     "with --live and itch: time zone of the exchange's midnight, as in the feed's key `timezone`")
        ->type_name("ZONE")
        ->capture_default_str();
    command->add_option(
        "--out", options->out,
        "write this file instead of sending: ITCH messages with length prefixes if its name ends in "
        ".itch, a capture with two interfaces (pcapng) if it ends in .pcapng, otherwise a capture (pcap)");
    options->sending.add_to(*command);
    command->find_option("--to")->required(false);
    return {command, [options] { return generate(*options); }};
}

}  // namespace millpond::app
