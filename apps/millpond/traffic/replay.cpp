#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include <millpond/core/clock.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/net/itch_file_reader.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/unpacked_file.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/command_line/utc_text.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/traffic/file_kind.hpp"
#include "apps/millpond/traffic/itch_source.hpp"
#include "apps/millpond/traffic/journal_source.hpp"
#include "apps/millpond/traffic/pcap_source.hpp"
#include "apps/millpond/traffic/replay_ring.hpp"
#include "apps/millpond/traffic/request_server.hpp"
#include "apps/millpond/traffic/sending.hpp"
#include "apps/millpond/traffic/speed.hpp"

namespace millpond::app {
namespace {

struct ReplayOptions {
    SendingOptions sending;
    std::string file;
    std::string speed{"1"};
    std::string only;
    std::string session;
    std::string serve;
    std::string since;
    std::string until;
    RingReplayOptions ring;
    bool loop{false};
};

std::optional<net::SocketAddress> parse_address(const std::string& flag, const std::string& text) {
    if (text.empty()) return std::nullopt;
    try {
        return net::SocketAddress::parse(text);
    } catch (const std::invalid_argument& error) {
        throw UsageError(flag + ": " + error.what());
    }
}

void print_skipped(const traffic::PcapSource& source) {
    const auto& counts = source.counts();
    fmt::print(
        "file: {} frames, {} datagrams, {} of them to other addresses; skipped: not IP {}, not UDP {}, "
        "fragments {}, cut {}, malformed {}\n",
        counts.frames, counts.datagrams, source.passed_over(), counts.not_ip, counts.not_udp, counts.fragments,
        counts.cut, counts.malformed);
    const auto& addresses = source.addresses();
    if (addresses.size() < 2) return;
    std::string list;
    for (const auto& address : addresses) list += (list.empty() ? "" : ", ") + address.to_string();
    const bool all = addresses.size() < traffic::PcapSource::kMostAddresses;
    fmt::print("datagrams to several addresses were sent to one; --only ADDRESS:PORT chooses among {}{}\n", list,
               all ? "" : " and maybe more");
}

/// Unchanged datagrams of a capture, in rounds if requested.
void send_capture(const ReplayOptions& options, Sending& sending) {
    const auto only = parse_address("--only", options.only);
    for (bool again = true; again;) {
        traffic::PcapSource source{options.file, only};
        const bool all = sending.send(source);
        again = all && options.loop;
        if (!again) print_skipped(source);
    }
}

/// Answers requests for the messages of a session until it is destroyed.
class Serving {
public:
    Serving(const net::SocketAddress& listen, const std::string& file, const std::string& session)
        : messages_(messages_of(file)),
          server_(listen, session, messages_),
          thread_([this](const std::stop_token& stop) {
              constexpr int kLookMs = 50;
              while (!stop.stop_requested()) static_cast<void>(server_.poll(kLookMs));
          }) {
        fmt::print("requests are served at {}\n", server_.address().to_string());
        std::fflush(stdout);
    }
    ~Serving() {
        thread_.request_stop();
        thread_.join();
        fmt::print("requests {}, messages resent {}\n", server_.requests(), server_.answered());
    }
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

private:
    static traffic::SessionMessages messages_of(const std::string& file) {
        traffic::SessionMessages messages;
        net::ItchFileReader reader{file};
        std::span<const std::byte> message;
        while (reader.next(message)) messages.add(message);
        return messages;
    }
    traffic::SessionMessages messages_;
    traffic::RequestServer server_;
    std::jthread thread_;
};

/// Messages of an ITCH file, each round a new session.
void send_itch(const ReplayOptions& options, Sending& sending, double speed) {
    if (!options.only.empty()) throw UsageError("--only: '" + options.file + "' holds messages without addresses");
    constexpr double kHeartbeatNanos = 1e9;
    constexpr int kRounds = 100;
    const auto serve = parse_address("--serve-requests", options.serve);
    for (int round = 1;; ++round) {
        const auto session = fmt::format("{:.8}{:02}", options.session, round % kRounds);
        std::optional<Serving> serving;
        if (serve) serving.emplace(*serve, options.file, session);
        traffic::ItchSource source{
            options.file, {.session = session, .heartbeat_ns = static_cast<std::int64_t>(kHeartbeatNanos * speed)}};
        const bool all = sending.send(source);
        if (all && options.loop) continue;
        // A receiver that lost the last messages requests them after the end.
        while (serving && !sending.stopped()) std::this_thread::sleep_for(std::chrono::milliseconds{50});
        return;
    }
}

/// Eight digits that differ from those of earlier runs, so that a receiver sees a new session.
std::string fresh_session() { return fmt::format("{:08}", core::utc_nanos() / 1'000'000'000 % 100'000'000); }

/// Quotes of a journal, each round a new session. Returns the program's exit code.
int send_journal(const ReplayOptions& options, Sending& sending, double speed) {
    constexpr double kHeartbeatNanos = 1e9;
    const auto range = parse_range(options.since, options.until);
    for (bool again = true; again;) {
        traffic::JournalSource source{options.file,
                                      {.session = static_cast<std::uint64_t>(core::utc_nanos()),
                                       .heartbeat_ns = static_cast<std::int64_t>(kHeartbeatNanos * speed),
                                       .since = range.since,
                                       .until = range.until}};
        const bool all = sending.send(source);
        again = all && options.loop;
        const auto& counts = source.counts();
        if (again) continue;
        const auto faults = source.take_faults();
        for (const auto& fault : faults) to_stderr("{}\n", fault);
        fmt::print("journal: {} quotes, {} gaps; not sent: {} other events; {} were lost before it\n", counts.quotes,
                   counts.gaps, counts.others, counts.lost);
        if (!faults.empty() || counts.damaged) return kJournalDamaged;
    }
    return 0;
}

/// Refuses combinations of options that make no sense.
void check(const ReplayOptions& options, traffic::FileKind kind) {
    const bool journal = kind == traffic::FileKind::journal;
    const bool into_ring = !options.ring.ring.empty();
    if (into_ring && !journal)
        throw UsageError("--ring: '" + options.file + "' is not a journal; send it --to a gateway");
    if (into_ring && options.loop) throw UsageError("--loop: not with --ring, which gets a journal once");
    const auto& faults = options.sending.faults;
    if (into_ring && (faults.drop > 0 || faults.duplicate > 0 || faults.swap > 0))
        throw UsageError("--drop, --duplicate, --swap: only with --to; a ring neither loses nor duplicates events");
    if (!journal && !(options.since.empty() && options.until.empty()))
        throw UsageError("--since, --until: '" + options.file + "' is not a journal");
    if (journal && !options.only.empty())
        throw UsageError("--only: '" + options.file + "' holds events without addresses");
    if (kind != traffic::FileKind::itch && !options.serve.empty())
        throw UsageError("--serve-requests: '" + options.file + "' holds no ITCH messages");
    if (kind != traffic::FileKind::itch && !options.session.empty())
        throw UsageError("--session: '" + options.file + "' holds no ITCH messages");
}

/// Journals are mapped, so a compressed segment is unpacked first; options name the unpacked file then.
void unpack(ReplayOptions& options, std::optional<net::UnpackedFile>& unpacked) {
    if (std::filesystem::is_directory(options.file) || !net::is_packed(options.file)) return;
    unpacked.emplace(options.file, std::filesystem::temp_directory_path(), journal::kMostSegmentBytes);
    while (unpacked->step()) {
    }
    if (!unpacked->damage().empty()) to_stderr("{}\n", unpacked->damage());
    options.file = unpacked->path().string();
}

int replay_ring(const ReplayOptions& options, double speed) {
    auto ring = options.ring;
    ring.journal = options.file;
    ring.speed = speed;
    const auto range = parse_range(options.since, options.until);
    ring.since = range.since;
    ring.until = range.until;
    ring.spin = options.sending.spin;
    ring.quiet = options.sending.quiet;
    return replay_into_ring(ring);
}

int replay(ReplayOptions& options) {
    const auto speed = parse_speed(options.speed);
    // Invalid options are refused before the file is opened.
    const bool is_sent = !options.sending.to.empty();
    if (is_sent && !options.ring.ring.empty()) throw UsageError("--to and --ring are mutually exclusive");
    if (!is_sent && options.ring.ring.empty())
        throw UsageError("replay: one of --to ADDRESS:PORT and --ring NAME is needed");
    if (is_sent && parse_address("--to", options.sending.to)->port() == 0)
        throw UsageError("--to: '" + options.sending.to + "': a port from 1 to 65535 is needed");
    static_cast<void>(parse_range(options.since, options.until));
    const auto kind = traffic::file_kind(options.file);
    check(options, kind);
    std::optional<net::UnpackedFile> unpacked;
    if (kind == traffic::FileKind::journal) unpack(options, unpacked);
    const int best = unpacked && !unpacked->damage().empty() ? kJournalDamaged : 0;
    if (!options.ring.ring.empty()) {
        const int exit_code = replay_ring(options, speed);
        return exit_code == 0 ? best : exit_code;
    }
    if (options.session.empty()) options.session = fresh_session();
    Sending sending{options.sending, speed};
    int exit_code = best;
    switch (kind) {
        case traffic::FileKind::pcap: send_capture(options, sending); break;
        case traffic::FileKind::itch: send_itch(options, sending, speed); break;
        case traffic::FileKind::journal: exit_code = std::max(best, send_journal(options, sending, speed)); break;
    }
    sending.finish(kind != traffic::FileKind::pcap);
    return exit_code;
}

}  // namespace

Command replay_command(Arguments& program) {
    auto* command = program.add_subcommand(
        "replay", "Replay a capture, an ITCH file (as MoldUDP64) or a journal (as quotes) at the recorded pace.");
    command->footer(
        "Examples:\n"
        "  millpond replay day.pcap --to 127.0.0.1:14000\n"
        "  millpond replay day.pcap --only 224.0.105.2:51002 --to 239.1.1.1:14000 --interface eth1 --speed 10\n"
        "  millpond replay day.itch.gz --to 239.1.1.1:14000 --speed 100 --loop\n"
        "  millpond replay day.itch --to 239.1.1.1:14000 --drop 0.01 --serve-requests 127.0.0.1:14001\n"
        "  millpond replay day.pcap --to 127.0.0.1:14000 --speed max --drop 0.001 --swap 0.001\n"
        "  millpond replay /var/lib/millpond/journal --to 239.1.1.1:14000 --since 2026-11-20T14:30:00 --speed 10\n"
        "  millpond replay /var/lib/millpond/journal --ring backtest --readers 1 --speed max\n"
        "The datagrams of a capture are sent unchanged. From a journal, --to sends the quotes as `quotes` datagrams, "
        "which\n"
        "a gateway reads with format = \"quotes\"; --ring publishes every event, as recorded, to a ring that\n"
        "`millpond tail --ring NAME` and any subscriber reads without a gateway. Losses of the journal become gaps "
        "there.\n"
        "Exit codes: 0 good, 1 failed, 2 usage error, 3 the journal is damaged; its readable part was sent.");
    auto options = std::make_shared<ReplayOptions>();
    command
        ->add_option("FILE", options->file,
                     "capture (pcap, pcapng) or ITCH messages with length prefixes, also as .gz or .zst; a journal's "
                     "folder, or "
                     "one segment (.mpj), also as .mpj.gz or .mpj.zst")
        ->required();
    command->add_option("--speed", options->speed, "1: as recorded; N: N times as fast; max: without waiting")
        ->check(speed_check())
        ->capture_default_str();
    command->add_option("--only", options->only, "only datagrams to this ADDRESS:PORT (port 0: any)");
    command
        ->add_option(
            "--session", options->session,
            "name of the MoldUDP64 session, up to 8 characters before the number of the round (new in each run)")
        ->check([](const std::string& name) {
            return name.size() > 8 ? "'" + name + "' is longer than 8 characters" : std::string{};
        });
    command->add_option("--since", options->since,
                        "of a journal: start at this receive time, UTC, such as 2026-11-20T14:30");
    command->add_option("--until", options->until, "of a journal: end at this receive time");
    command->add_option("--serve-requests", options->serve,
                        "of ITCH messages: serve MoldUDP64 re-requests at this ADDRESS:PORT, until Ctrl-C");
    command->add_flag("--loop", options->loop, "start again at the end, until Ctrl-C");
    options->sending.add_to(*command);
    command->find_option("--to")->required(false);
    auto* ring = command->add_option("--ring", options->ring.ring, "of a journal: publish all events to the ring NAME");
    command
        ->add_option("--readers", options->ring.readers,
                     "start when this many readers have joined the ring, and wait for the slowest (0)")
        ->check(whole_number(0, 1'000'000))
        ->needs(ring);
    command->add_option("--capacity", options->ring.capacity, "entries of the ring, a power of two")
        ->check(power_of_two(2, std::uint64_t{1} << 40U))
        ->capture_default_str()
        ->needs(ring);
    command->add_option("--max-instruments", options->ring.max_instruments, "maximum number of instruments in the ring")
        ->check(whole_number(1, std::uint64_t{1} << 24U))
        ->capture_default_str()
        ->needs(ring);
    return {command, [options] { return replay(*options); }};
}

}  // namespace millpond::app
