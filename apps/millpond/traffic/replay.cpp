#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/clock.hpp>
#include <millpond/files/file_kind.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/command_line/utc_text.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/journal/journal_folder.hpp"
#include "apps/millpond/traffic/capture_format.hpp"
#include "apps/millpond/traffic/capture_text.hpp"
#include "apps/millpond/traffic/clock.hpp"
#include "apps/millpond/traffic/itch_source.hpp"
#include "apps/millpond/traffic/journal_source.hpp"
#include "apps/millpond/traffic/pcap_source.hpp"
#include "apps/millpond/traffic/recording_source.hpp"
#include "apps/millpond/traffic/releasing_source.hpp"
#include "apps/millpond/traffic/replay_ring.hpp"
#include "apps/millpond/traffic/replay_servers.hpp"
#include "apps/millpond/traffic/sending.hpp"
#include "apps/millpond/traffic/speed.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

struct ReplayOptions {
    SendingOptions sending;
    std::string file;
    std::string speed{"1"};
    std::string only;
    std::string timestamps{"auto"};
    std::string session;
    std::string serve;
    std::string soupbin;
    std::string glimpse;
    std::string iex_gap_fill;
    std::string iex_snap;
    std::string since;
    std::string until;
    RingReplayOptions ring;
    bool loop{false};
    bool report{false};
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
    fmt::print("file: {}; datagrams to other addresses: {}\n", capture_text(source.reader()), source.passed_over());
    const auto& addresses = source.addresses();
    if (addresses.size() < 2) return;
    std::string list;
    for (const auto& address : addresses) list += (list.empty() ? "" : ", ") + address.to_string();
    const bool all = addresses.size() < traffic::PcapSource::kMaxAddresses;
    fmt::print("datagrams to several addresses were sent to one; --only ADDRESS:PORT chooses among {}{}\n", list,
               all ? "" : " and maybe more");
}

/// Error message if no datagram of a capture was chosen.
std::string nothing_in(const ReplayOptions& options, const traffic::PcapSource& source) {
    const auto& counts = source.reader().counts();
    if (source.passed_over() != 0)
        return fmt::format("'{}': none of its {} datagrams is to {}", options.file, counts.datagrams, options.only);
    return fmt::format("'{}': no UDP datagram that can be read: {}", options.file, capture_text(source.reader()));
}

/// Sends the datagrams of a capture unchanged, in rounds if requested. Returns the program's exit code.
int send_capture(const ReplayOptions& options, Sending& sending) {
    const auto only = parse_address("--only", options.only);
    std::optional<IexServing> serving;
    const auto gap_fill = parse_address("--serve-iex-gap-fill", options.iex_gap_fill);
    const auto snap = parse_address("--serve-iex-snap", options.iex_snap);
    if (gap_fill || snap) serving.emplace(gap_fill, snap);
    while (true) {
        traffic::PcapSource source{options.file, only, timestamps_named(options.timestamps)};
        traffic::LineReport report{numbers_of(options.report ? detected_format(options.file) : "")};
        if (options.report) source.visit_with([&report](const auto& datagram) { report.add(datagram); });
        bool all = false;
        if (serving) {
            traffic::RecordingSource recording{source, serving->history()};
            all = sending.send(recording);
        } else {
            all = sending.send(source);
        }
        const bool nothing = all && source.reader().counts().datagrams == source.passed_over();
        if (all && options.loop && !nothing) {
            if (serving) serving->history().restart();
            continue;
        }
        print_skipped(source);
        if (options.report) fmt::print("{}", report.text(traffic::kReportedGaps));
        // A receiver that lost the last messages requests them after the end.
        while (serving && !nothing && !sending.stopped()) std::this_thread::sleep_for(std::chrono::milliseconds{50});
        if (!nothing) return 0;
        to_stderr("{}\n", nothing_in(options, source));
        return 1;
    }
}

/// Waits for the time of each datagram, which releases its messages. False if `stop` ended it.
bool release(traffic::Source& source, double speed, bool spin, const std::atomic<bool>& stop) {
    traffic::MonotonicClock clock{spin};
    const auto start = clock.now();
    traffic::Outgoing datagram;
    while (!stop.load(std::memory_order_relaxed) && source.next(datagram)) {
        if (speed == 0.0) continue;
        const auto due = start + static_cast<std::int64_t>(static_cast<double>(datagram.due_ns) / speed);
        while (clock.now() < due && !stop.load(std::memory_order_relaxed)) clock.wait_until(due);
    }
    if (!source.error().empty()) throw std::runtime_error(source.error());
    return !stop.load(std::memory_order_relaxed);
}

/// Sends or releases the messages of an ITCH file; each round is a new session. send: called for each round with the
/// source; returns false after Ctrl-C, as does stopped.
template <class Send, class Stopped>
void send_itch(const ReplayOptions& options, double speed, Send&& send, Stopped&& stopped) {
    if (!options.only.empty()) throw UsageError("--only: '" + options.file + "' holds messages without addresses");
    constexpr double kHeartbeatNanos = 1e9;
    constexpr int kRounds = 100;
    const ItchServers servers{.requests = parse_address("--serve-requests", options.serve),
                              .soupbin = parse_address("--serve-soupbin", options.soupbin),
                              .glimpse = parse_address("--serve-glimpse", options.glimpse)};
    for (int round = 1;; ++round) {
        const auto session = fmt::format("{:.8}{:02}", options.session, round % kRounds);
        std::optional<ItchServing> serving;
        if (servers.any()) serving.emplace(servers, options.file, session);
        traffic::ItchSource source{
            options.file, {.session = session, .heartbeat_ns = static_cast<std::int64_t>(kHeartbeatNanos * speed)}};
        bool all = false;
        if (serving) {
            traffic::ReleasingSource releasing{source, serving->released()};
            all = send(releasing);
        } else {
            all = send(source);
        }
        if (all && options.loop) continue;
        // A receiver that lost the last messages requests them after the end, and a client may log in late.
        while (serving && !stopped()) std::this_thread::sleep_for(std::chrono::milliseconds{50});
        return;
    }
}

/// Returns eight digits that differ from those of earlier runs, so that a receiver sees a new session.
std::string fresh_session() { return fmt::format("{:08}", core::utc_nanos() / 1'000'000'000 % 100'000'000); }

/// Sends the quotes of a journal; each round is a new session. Returns the program's exit code.
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
        const auto faults = source.drain_faults();
        for (const auto& fault : faults) to_stderr("{}\n", fault);
        fmt::print("journal: {} quotes, {} gaps; not sent: {} other events; {} were lost before it\n", counts.quotes,
                   counts.gaps, counts.others, counts.lost);
        if (!faults.empty() || counts.damaged) return kJournalDamaged;
    }
    return 0;
}

/// Refuses combinations of options that make no sense.
void check(const ReplayOptions& options, files::FileKind kind) {
    const bool journal = kind == files::FileKind::journal;
    const bool into_ring = !options.ring.ring.empty();
    if (into_ring && !journal)
        throw UsageError("--ring: '" + options.file + "' is not a journal; send it --to a gateway");
    if (into_ring && options.loop) throw UsageError("--loop: not with --ring, which gets a journal once");
    const auto& faults = options.sending.faults;
    if (!into_ring && options.sending.to.empty() && (faults.drop > 0 || faults.duplicate > 0 || faults.swap > 0))
        throw UsageError(
            "--drop, --duplicate, --swap: only with --to; SoupBinTCP neither loses nor duplicates messages");
    if (into_ring && (faults.drop > 0 || faults.duplicate > 0 || faults.swap > 0))
        throw UsageError("--drop, --duplicate, --swap: only with --to; a ring neither loses nor duplicates events");
    if (!journal && !(options.since.empty() && options.until.empty()))
        throw UsageError("--since, --until: '" + options.file + "' is not a journal");
    if (journal && !options.only.empty())
        throw UsageError("--only: '" + options.file + "' holds events without addresses");
    const auto refuse_server = [&](const std::string& flag, const std::string& value) {
        if (kind != files::FileKind::itch && !value.empty())
            throw UsageError(flag + ": '" + options.file + "' holds no ITCH messages");
    };
    refuse_server("--serve-requests", options.serve);
    refuse_server("--serve-soupbin", options.soupbin);
    refuse_server("--serve-glimpse", options.glimpse);
    if (kind != files::FileKind::capture && !options.iex_gap_fill.empty())
        throw UsageError("--serve-iex-gap-fill: '" + options.file + "' is not a capture");
    if (kind != files::FileKind::capture && !options.iex_snap.empty())
        throw UsageError("--serve-iex-snap: '" + options.file + "' is not a capture");
    if (kind != files::FileKind::capture && options.report)
        throw UsageError("--report: '" + options.file + "' is not a capture");
    if (options.report && options.loop) throw UsageError("--report: not with --loop");
    if (kind != files::FileKind::capture && options.timestamps != "auto")
        throw UsageError("--timestamps: '" + options.file + "' is not a capture");
    if (kind != files::FileKind::itch && !options.session.empty())
        throw UsageError("--session: '" + options.file + "' holds no ITCH messages");
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
    if (!is_sent && options.ring.ring.empty() && options.soupbin.empty())
        throw UsageError("replay: one of --to ADDRESS:PORT, --ring NAME and --serve-soupbin ADDRESS:PORT is needed");
    if (!options.ring.ring.empty() && !options.soupbin.empty())
        throw UsageError("--serve-soupbin and --ring are mutually exclusive");
    if (is_sent && parse_address("--to", options.sending.to)->port() == 0)
        throw UsageError("--to: '" + options.sending.to + "': a port from 1 to 65535 is needed");
    static_cast<void>(parse_range(options.since, options.until));
    const auto kind = files::file_kind(options.file);
    check(options, kind);
    std::optional<UnpackedJournal> unpacked;
    if (kind == files::FileKind::journal) options.file = unpacked.emplace(options.file).path();
    const int best = unpacked && !unpacked->damage().empty() ? kJournalDamaged : 0;
    if (best != 0) to_stderr("{}\n", unpacked->damage());
    if (!options.ring.ring.empty()) {
        const int exit_code = replay_ring(options, speed);
        return exit_code == 0 ? best : exit_code;
    }
    if (options.session.empty()) options.session = fresh_session();
    if (!is_sent) {
        const auto& stop = service::stop_on_signal();
        send_itch(
            options, speed, [&](traffic::Source& source) { return release(source, speed, options.sending.spin, stop); },
            [&] { return stop.load(std::memory_order_relaxed); });
        return best;
    }
    Sending sending{options.sending, speed};
    int exit_code = best;
    switch (kind) {
        case files::FileKind::capture: exit_code = send_capture(options, sending); break;
        case files::FileKind::itch:
            send_itch(
                options, speed, [&](traffic::Source& source) { return sending.send(source); },
                [&] { return sending.stopped(); });
            break;
        case files::FileKind::journal: exit_code = std::max(best, send_journal(options, sending, speed)); break;
    }
    sending.finish(kind != files::FileKind::capture);
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
        "  millpond replay day.itch --to 239.1.1.1:14000 --serve-glimpse 127.0.0.1:14003\n"
        "  millpond replay day.itch --serve-soupbin 127.0.0.1:14002\n"
        "  millpond replay day.pcapng.gz --to 239.1.1.1:14000 --drop 0.01 --serve-iex-gap-fill 127.0.0.1:14001\n"
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
    add_timestamps(*command, options->timestamps);
    command->add_flag("--report", options->report,
                      "of a capture: report at the end what each line carried, as capture-report does");
    command
        ->add_option(
            "--session", options->session,
            "name of the MoldUDP64 session, up to 8 characters before the number of the round (new in each run)")
        ->check([](const std::string& name) {
            return name.size() > 8 ? "'" + name + "' is longer than 8 characters" : std::string{};
        });
    command->add_option("--since", options->since,
                        "of a journal: start at this receive time, UTC, such as 2026-11-20T14:30");
    command->add_option("--until", options->until, "of a journal: only events received before this time");
    command->add_option("--serve-requests", options->serve,
                        "of ITCH messages: serve MoldUDP64 re-requests at this ADDRESS:PORT, until Ctrl-C");
    command->add_option("--serve-soupbin", options->soupbin,
                        "of ITCH messages: serve those that were sent by SoupBinTCP at this ADDRESS:PORT, until "
                        "Ctrl-C; any user and password");
    command->add_option("--serve-glimpse", options->glimpse,
                        "of ITCH messages: serve GLIMPSE snapshots at this ADDRESS:PORT, until Ctrl-C; any user and "
                        "password");
    command->add_option("--serve-iex-gap-fill", options->iex_gap_fill,
                        "of a capture: serve gap fills of the IEX-TP messages that were sent, by UDP and TCP at this "
                        "ADDRESS:PORT, until Ctrl-C");
    command->add_option("--serve-iex-snap", options->iex_snap,
                        "of a capture: serve DEEP SNAP and DEEP+ SNAP snapshots of what was sent at this ADDRESS:PORT, "
                        "until Ctrl-C; any token");
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
