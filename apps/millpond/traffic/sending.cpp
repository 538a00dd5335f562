#include "apps/millpond/traffic/sending.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/traffic/speed.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

constexpr std::int64_t kPlainLineEvery = 5'000'000'000;

net::UdpSender::Options sender_options(const SendingOptions& options) {
    try {
        return {.to = net::SocketAddress::parse(options.to),
                .interface = options.interface,
                .ttl = options.ttl,
                .loop = !options.no_loop_back,
                .batch = options.batch};
    } catch (const std::invalid_argument& error) {
        throw UsageError(std::string("--to: ") + error.what());
    }
}

double seconds(std::int64_t nanos) { return static_cast<double>(nanos) * 1e-9; }

double per_second(std::uint64_t count, std::int64_t nanos) {
    return nanos == 0 ? 0.0 : static_cast<double>(count) / seconds(nanos);
}

std::string bar(double fraction) {
    constexpr std::size_t kWidth = 30;
    const auto done = static_cast<std::size_t>(std::clamp(fraction, 0.0, 1.0) * kWidth);
    return fmt::format("[{:=<{}}{:.<{}}] {:3.0f} %  ", "", done, "", kWidth - done, fraction * 100.0);
}

}  // namespace

void SendingOptions::add_to(Arguments& options) {
    const auto fraction = number_between(0, 1);
    options.add_option("--to", to, "address to send to, ADDRESS:PORT, unicast or multicast")->required();
    options.add_option("--interface", interface, "interface for multicast");
    options.add_option("--ttl", ttl, "time to live of multicast datagrams")
        ->capture_default_str()
        ->check(whole_number(0, 255));
    options.add_flag("--no-loop-back", no_loop_back, "do not deliver multicast to subscribers on this machine");
    options.add_option("--batch", batch, "maximum number of datagrams in one system call")
        ->capture_default_str()
        ->check(whole_number(1, 1'024));
    options.add_flag("--spin", spin,
                     "busy-wait before each datagram instead of sleeping: exact times, at the cost of a core");
    options.add_option("--drop", faults.drop, "fraction of the datagrams to lose, 0 to 1")
        ->capture_default_str()
        ->check(fraction);
    options.add_option("--duplicate", faults.duplicate, "fraction to send twice")
        ->capture_default_str()
        ->check(fraction);
    options.add_option("--swap", faults.swap, "fraction to swap with the next datagram")
        ->capture_default_str()
        ->check(fraction);
    options.add_option("--seed", faults.seed, "the same seed gives the same bytes and faults")->capture_default_str();
    options.add_flag("--quiet", quiet, "print no progress");
}

Sending::Sending(const SendingOptions& options, double speed)
    : options_(options),
      stop_(service::stop_on_signal()),
      sender_(sender_options(options)),
      clock_(options.spin),
      transmitter_(sender_, clock_, {.speed = speed, .batch = options.batch}),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      show_at_ns_(on_terminal_ ? 0 : kPlainLineEvery) {
    transmitter_.on_long_wait(
        [this](std::int64_t wait_ns) { to_stderr("{}{}\n", on_terminal_ ? "\n" : "", long_wait_text(wait_ns)); });
    if (!options.quiet) transmitter_.on_progress([this](const traffic::Sent& sent) { show(sent); });
}

bool Sending::send(traffic::Source& source) {
    traffic::FaultPlanter planter{source, options_.faults};
    const bool all = transmitter_.run(planter, stop_);
    planted_ += planter.counts();
    if (!source.error().empty()) throw std::runtime_error(source.error());
    return all;
}

void Sending::show(const traffic::Sent& sent) {
    if (sent.elapsed_ns < show_at_ns_) return;
    const auto text = fmt::format("{}{} datagrams, {:.1f} MB, {:.0f} datagrams/s, {:.1f} s",
                                  sent.fraction < 0 ? std::string{} : bar(sent.fraction), sent.datagrams,
                                  static_cast<double>(sent.bytes) * 1e-6, per_second(sent.datagrams, sent.elapsed_ns),
                                  seconds(sent.elapsed_ns));
    if (on_terminal_) {
        to_stderr("\r{}\x1b[K", text);
    } else {
        to_stderr("{}\n", text);
        show_at_ns_ = sent.elapsed_ns + kPlainLineEvery;
    }
    std::fflush(stderr);
}

void Sending::finish(bool with_messages) {
    const auto count = [with_messages](std::uint64_t datagrams, std::uint64_t messages) {
        return with_messages ? fmt::format("{} datagrams ({} messages)", datagrams, messages)
                             : fmt::format("{} datagrams", datagrams);
    };
    const auto& sent = transmitter_.sent();
    if (on_terminal_ && !options_.quiet) to_stderr("\n");
    fmt::print("sent {}, {} bytes to {} in {:.3f} s ({:.0f} datagrams/s){}\n", count(sent.datagrams, sent.messages),
               sent.bytes, options_.to, seconds(sent.elapsed_ns), per_second(sent.datagrams, sent.elapsed_ns),
               stopped() ? ", stopped by a signal" : "");
    fmt::print(
        "send errors {}, waits for the kernel's buffers {}, sent more than 1 ms late {} (by at most {:.3f} ms)\n",
        sent.failed, sent.waits, sent.late, static_cast<double>(sent.max_late_ns) * 1e-6);
    if (sent.failed != 0)
        fmt::print("last send error: {}\n",
                   std::generic_category().message(static_cast<int>(sender_.counters().last_error.read())));
    const auto& faults = options_.faults;
    if (faults.drop > 0 || faults.duplicate > 0 || faults.swap > 0)
        fmt::print("injected faults: dropped {}, duplicated {}, swapped {}\n",
                   count(planted_.dropped, planted_.messages_dropped),
                   count(planted_.duplicated, planted_.messages_duplicated),
                   count(planted_.swapped, planted_.messages_swapped));
}

}  // namespace millpond::app
