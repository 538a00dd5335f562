#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/market/ring_reader.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/top/event_lines.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

struct TailOptions {
    std::string ring{"main"};
    std::vector<std::string> symbols;
    std::string format{"table"};
    std::uint64_t count{0};
};

constexpr std::string_view to_string(market::WriterState state) noexcept {
    switch (state) {
        case market::WriterState::alive: return "alive";
        case market::WriterState::silent: return "silent";
        case market::WriterState::superseded: return "superseded";
        case market::WriterState::closed: return "closed";
    }
    return "unknown";
}

/// Reads a ring and prints the selected events.
class Tail {
public:
    explicit Tail(const TailOptions& options)
        : wanted_(options.symbols.begin(), options.symbols.end()),
          count_(options.count),
          printer_(format_of(options.format)),
          reader_({.name = options.ring, .visible_as = "tail"}) {}

    void join() {
        number_from_reader_ = false;
        reader_.join(*this);
        number_from_reader_ = true;
    }
    /// Reads at most as many events as are still requested.
    std::size_t poll() {
        return reader_.poll(*this, count_ == 0 ? kRound : std::min<std::uint64_t>(kRound, count_ - printed_));
    }

    void on(const feed::Quote& quote) { print(quote, quote.instrument); }
    void on(const feed::Trade& trade) { print(trade, trade.instrument); }
    void on(const feed::TradeBreak& broken) { print(broken, broken.instrument); }
    void on(const feed::Status& status) { print(status, status.instrument); }
    void on(const feed::Clear& clear) { print(clear, clear.instrument); }
    void on(const feed::Gap& gap) { print(gap, feed::kNoInstrument); }
    void on(const queue::MissedRange& missed) {
        if (!done()) printer_.write(missed);
    }

    /// Prints the collected lines; false when no process reads them.
    [[nodiscard]] bool flush() {
        const bool good = put_out(printer_.lines());
        printer_.clear();
        return good;
    }

    [[nodiscard]] const EventLines& printer() const noexcept { return printer_; }
    /// The requested number of events has been printed.
    [[nodiscard]] bool done() const noexcept { return count_ != 0 && printed_ == count_; }
    [[nodiscard]] market::WriterState writer() noexcept { return reader_.writer_state(); }
    /// Events that are not printed count as filtered.
    [[nodiscard]] market::RingAccount account() const noexcept {
        auto result = reader_.account();
        result.delivered -= unprinted_;
        result.filtered += unprinted_;
        return result;
    }

private:
    static constexpr std::size_t kRound = 1'024;

    template <class Event>
    void print(const Event& event, feed::InstrumentId id) {
        const auto before = printer_.lines().size();
        if (!done() && (id == feed::kNoInstrument || wants(id))) {
            printer_.write(event, number_from_reader_ ? reader_.current() : reader_.account().since - 1);
        }
        if (printer_.lines().size() != before) {
            ++printed_;
        } else if (number_from_reader_) {
            ++unprinted_;  // not requested, or CSV has no row for it
        }
    }

    [[nodiscard]] bool wants(feed::InstrumentId id) {
        while (printer_.named() <= id) {
            const auto* instrument = reader_.instrument(static_cast<feed::InstrumentId>(printer_.named()));
            const auto symbol = instrument == nullptr ? feed::Symbol{} : instrument->symbol;
            printer_.name(symbol);
            is_wanted_.push_back(wanted_.empty() || wanted_.contains(symbol.view()));
        }
        return is_wanted_[id];
    }

    std::set<std::string, std::less<>> wanted_;
    std::vector<bool> is_wanted_;
    std::uint64_t count_;
    EventLines printer_;
    market::RingReader reader_;
    bool number_from_reader_{false};
    std::uint64_t printed_{0};
    std::uint64_t unprinted_{0};  // events of the ring, not of the board
};

void print_end(Tail& tail, std::string_view why) {
    const auto account = tail.account();
    to_stderr("millpond: tail: {}; writer {}; published {} = delivered {} + filtered {} + missed {} + queued {}\n", why,
              to_string(tail.writer()), account.published, account.delivered, account.filtered, account.missed,
              account.queued);
}

/// Names of the rings on this machine.
std::vector<std::string> rings() {
    std::vector<std::string> names;
    const std::string prefix{market::kRingPrefix.substr(1)};
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with(prefix)) continue;
        const auto ring = name.substr(prefix.size());
        if (!ring.contains(market::kReaderInfix) && !ring.ends_with(market::kLockSuffix)) names.push_back(ring);
    }
    std::ranges::sort(names);
    return names;
}

/// Throws std::runtime_error that lists the existing rings if there is none with this name.
Tail open(const TailOptions& options) {
    try {
        return Tail{options};
    } catch (const market::RingError& error) {
        if (error.fault() != market::RingFault::not_found) throw;
        const auto there = rings();
        throw std::runtime_error(fmt::format("no ring '{}'; {}", options.ring,
                                             there.empty() ? "no gateway is running on this machine"
                                                           : fmt::format("there are: {}", fmt::join(there, ", "))));
    }
}

int run(const TailOptions& options) {
    const auto& stop = service::stop_on_signal();
    auto tail = open(options);
    if (!put_out(tail.printer().head())) return 0;
    tail.join();
    core::Idle idle{core::Poll::block, {.longest_wait = std::chrono::milliseconds{5}}};
    auto state = market::WriterState::alive;
    while (tail.flush() && !stop.load(std::memory_order_relaxed)) {
        if (tail.done()) {
            print_end(tail, "the requested number of events");
            return 0;
        }
        // Reads the state before the ring, so that all events of a ring that has ended are printed.
        const auto now = tail.writer();
        if (tail.poll() != 0) {
            idle.worked();
            continue;
        }
        if (now == market::WriterState::closed || now == market::WriterState::superseded) {
            print_end(tail, "end of stream");
            return 0;
        }
        if (now != state && now == market::WriterState::silent) {
            to_stderr("millpond: tail: the writer does not respond\n");
        }
        state = now;
        idle.rest();
    }
    print_end(tail, "ended");
    return 0;
}

}  // namespace

Command tail_command(Arguments& program) {
    auto* command = program.add_subcommand("tail", "Print the events of a gateway: first the board, then new events.");
    command->footer(
        "Prints its account on standard error at the end: how many events were delivered, filtered and missed.\n"
        "Examples:\n"
        "  millpond tail\n"
        "  millpond tail --ring demo --symbol AAPL --symbol MSFT --format json\n"
        "  millpond tail --ring options --format csv --count 1000 > quotes.csv");
    auto options = std::make_shared<TailOptions>();
    command->add_option("--ring", options->ring, "the ring's name")->capture_default_str();
    command->add_option("--symbol", options->symbols, "only this instrument; may be given several times")
        ->allow_extra_args(false);
    command->add_option("--format", options->format, "output format")
        ->one_of({"table", "json", "csv"})
        ->capture_default_str();
    command->add_option("--count", options->count, "end after this many events (0: never)")
        ->check(whole_number())
        ->capture_default_str();
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
