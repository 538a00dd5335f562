#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/sending.hpp"
#include "apps/millpond/speed.hpp"
#include "apps/millpond/traffic/pcap_source.hpp"

namespace millpond::app {
namespace {

struct Options {
    SendingOptions sending;
    std::string file;
    std::string speed{"1"};
    std::string only;
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

int replay(const Options& options) {
    const auto only = parse_only(options.only);
    Sending sending{options.sending, parse_speed("--speed", options.speed)};
    for (bool again = true; again;) {
        traffic::PcapSource source{options.file, only};
        const bool all = sending.send(source);
        again = all && options.loop;
        if (!again) print_skipped(source);
    }
    sending.finish(false);
    return 0;
}

}  // namespace

Command replay_command(CLI::App& program) {
    auto* command = program.add_subcommand("replay", "Send the datagrams of a capture file again, at recorded pace.");
    command->footer(
        "Examples:\n"
        "  millpond replay day.pcap --to 127.0.0.1:14000\n"
        "  millpond replay day.pcap --only 224.0.105.2:51002 --to 239.1.1.1:14000 --interface eth1 --speed 10\n"
        "  millpond replay day.pcap --to 127.0.0.1:14000 --speed max --drop 0.001 --swap 0.001");
    auto options = std::make_shared<Options>();
    command->add_option("FILE", options->file, "capture file (pcap)")->required();
    command->add_option("--speed", options->speed, "1: as recorded; N: N times as fast; max: without waiting")
        ->capture_default_str();
    command->add_option("--only", options->only, "only datagrams that went to this ADDRESS:PORT (port 0: any)");
    command->add_flag("--loop", options->loop, "begin again at the end, until Ctrl-C");
    options->sending.add_to(*command);
    return {command, [options] { return replay(*options); }};
}

}  // namespace millpond::app
