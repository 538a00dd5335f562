#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <millpond/core/clock.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/sending.hpp"
#include "apps/millpond/speed.hpp"
#include "apps/millpond/traffic/file_kind.hpp"
#include "apps/millpond/traffic/itch_source.hpp"
#include "apps/millpond/traffic/pcap_source.hpp"

namespace millpond::app {
namespace {

struct Options {
    SendingOptions sending;
    std::string file;
    std::string speed{"1"};
    std::string only;
    std::string session;
    bool loop{false};
};

std::optional<net::SocketAddress> parse_only(const std::string& text) {
    if (text.empty()) return std::nullopt;
    try {
        return net::SocketAddress::parse(text);
    } catch (const std::invalid_argument& error) {
        throw UsageError(std::string("--only: ") + error.what());
    }
}

void print_skipped(const traffic::PcapSource& source) {
    const auto& counts = source.counts();
    fmt::print(
        "file: {} frames, {} datagrams, {} of them to other addresses; skipped: not IP {}, not UDP {}, "
        "fragments {}, cut {}, malformed {}\n",
        counts.frames, counts.datagrams, source.passed_over(), counts.not_ip, counts.not_udp, counts.fragments,
        counts.cut, counts.malformed);
}

/// Datagrams of a capture as they were, round after round when asked for.
void send_capture(const Options& options, Sending& sending) {
    const auto only = parse_only(options.only);
    for (bool again = true; again;) {
        traffic::PcapSource source{options.file, only};
        const bool all = sending.send(source);
        again = all && options.loop;
        if (!again) print_skipped(source);
    }
}

/// Messages of an ITCH file, each round a session of its own.
void send_itch(const Options& options, Sending& sending, double speed) {
    if (!options.only.empty()) throw UsageError("--only: '" + options.file + "' holds messages without addresses");
    constexpr double kHeartbeatNanos = 1e9;
    constexpr int kRounds = 100;
    for (int round = 1;; ++round) {
        traffic::ItchSource source{options.file,
                                   {.session = fmt::format("{:.8}{:02}", options.session, round % kRounds),
                                    .heartbeat_ns = static_cast<std::int64_t>(kHeartbeatNanos * speed)}};
        if (!sending.send(source) || !options.loop) return;
    }
}

int replay(const Options& options) {
    const auto speed = parse_speed("--speed", options.speed);
    Sending sending{options.sending, speed};
    const bool itch = traffic::file_kind(options.file) == traffic::FileKind::itch;
    itch ? send_itch(options, sending, speed) : send_capture(options, sending);
    sending.finish(itch);
    return 0;
}

/// Eight digits that no earlier run had, so that a receiver knows the session as new.
std::string fresh_session() { return fmt::format("{:08}", core::utc_nanos() / 1'000'000'000 % 100'000'000); }

}  // namespace

Command replay_command(CLI::App& program) {
    auto* command =
        program.add_subcommand("replay", "Send a capture again, or an ITCH file as MoldUDP64, at recorded pace.");
    command->footer(
        "Examples:\n"
        "  millpond replay day.pcap --to 127.0.0.1:14000\n"
        "  millpond replay day.pcap --only 224.0.105.2:51002 --to 239.1.1.1:14000 --interface eth1 --speed 10\n"
        "  millpond replay day.itch --to 239.1.1.1:14000 --speed 100 --loop\n"
        "  millpond replay day.pcap --to 127.0.0.1:14000 --speed max --drop 0.001 --swap 0.001");
    auto options = std::make_shared<Options>();
    command->add_option("FILE", options->file, "capture (pcap), or ITCH messages each behind its length")->required();
    command->add_option("--speed", options->speed, "1: as recorded; N: N times as fast; max: without waiting")
        ->capture_default_str();
    command->add_option("--only", options->only, "only datagrams that went to this ADDRESS:PORT (port 0: any)");
    command
        ->add_option(
            "--session", options->session,
            "name of the MoldUDP64 session, up to 8 characters before the number of the round (new in each run)")
        ->check([](const std::string& name) {
            return name.size() > 8 ? "'" + name + "' is longer than 8 characters" : std::string{};
        });
    command->add_flag("--loop", options->loop, "begin again at the end, until Ctrl-C");
    options->sending.add_to(*command);
    return {command, [options] {
                if (options->session.empty()) options->session = fresh_session();
                return replay(*options);
            }};
}

}  // namespace millpond::app
