#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/market/board_layout.hpp>
#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/market/ring_reader.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/top/event_printer.hpp"
#include "apps/millpond/top/tail_journal.hpp"
#include "apps/millpond/top/tail_options.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

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
class Tail final : public EventPrinter {
public:
    explicit Tail(const TailOptions& options)
        : Tail(options, std::make_unique<market::RingReader>(market::RingReaderOptions{
                            .name = options.ring_or_main(), .visible_as = "tail", .joins = true})) {}

    /// Levels of the feed that sends the most.
    [[nodiscard]] std::uint32_t most_levels() const {
        std::uint32_t most = 0;
        for (std::uint32_t channel = 0; channel < reader_->board().max_channels(); ++channel)
            most = std::max(most, reader_->depth(static_cast<std::uint16_t>(channel)).depth);
        return most;
    }

    void join() {
        source_ = Source::board;
        show_venues(reader_->board());
        reader_->join(*this);
        source_ = Source::ring;
    }
    /// Reads at most as many events as are still requested.
    std::size_t poll() {
        const auto entries = reader_->poll(*this, round());
        rejoin();
        return entries;
    }

    using EventPrinter::on;
    void on(const feed::Level& level) {
        EventPrinter::on(level);
        const auto id = level.instrument;
        if (source_ != Source::ring || id >= awaits_level_.size() || !awaits_level_[id]) return;
        awaits_level_[id] = false;
        rejoining_.insert(id);
    }
    void on(const queue::MissedRange& missed) {
        EventPrinter::on(missed);
        if (depth() == 0) return;
        awaits_level_.assign(reader_->instruments(), false);
        for (feed::InstrumentId id = 0; id < reader_->instruments(); ++id) rejoining_.insert(id);
    }

    /// Number of lines of the board, which are not part of the account.
    [[nodiscard]] std::uint64_t printed_of_board() const noexcept { return printed_of_board_; }
    [[nodiscard]] market::WriterState writer() noexcept { return reader_->writer_state(); }
    /// Account of the ring's events; those that are not printed count as filtered.
    [[nodiscard]] market::RingAccount account() const noexcept {
        auto result = reader_->account();
        result.delivered -= unprinted_;
        result.filtered += unprinted_;
        return result;
    }

private:
    Tail(const TailOptions& options, std::unique_ptr<market::RingReader> reader)
        : EventPrinter(options, reader->max_instruments(),
                       [from = reader.get()](std::uint16_t channel) { return from->depth(channel); }),
          reader_(std::move(reader)) {}

    [[nodiscard]] std::uint64_t number() const override {
        return source_ == Source::board ? reader_->account().since - 1 : reader_->current();
    }
    [[nodiscard]] const market::Instrument* instrument(feed::InstrumentId id) override {
        return reader_->instrument(id);
    }
    void note(bool is_printed, bool is_of_book) override {
        if (is_printed) {
            if (source_ != Source::ring) ++printed_of_board_;
        } else if (source_ == Source::ring && !is_of_book) {
            ++unprinted_;  // not requested, or CSV has no row for it
        }
    }

    /// After a missed range, makes the books of levels complete again from the board.
    void rejoin() {
        if (rejoining_.empty()) return;
        source_ = Source::rejoin;
        for (auto id = rejoining_.begin(); id != rejoining_.end() && !done();) {
            const auto outcome = reader_->rejoin(*this, *id);
            if (outcome == market::RejoinOutcome::none && *id < awaits_level_.size()) awaits_level_[*id] = true;
            id = outcome == market::RejoinOutcome::behind ? std::next(id) : rejoining_.erase(id);
        }
        source_ = Source::ring;
    }

    /// Where the events come from: the board at the join, the ring, or the board after a missed range.
    enum class Source : std::uint8_t { board, ring, rejoin };

    std::unique_ptr<market::RingReader> reader_;
    Source source_{Source::ring};
    std::set<feed::InstrumentId> rejoining_;  // whose levels are to come from the board again
    std::vector<bool> awaits_level_;          // by id: the board had no levels; they come after the next one
    std::uint64_t printed_of_board_{0};
    std::uint64_t unprinted_{0};  // events of the ring, without those of the board
};

void print_end(Tail& tail, std::string_view why) {
    const auto account = tail.account();
    to_stderr(
        "millpond: tail: {}; writer {}; board {}; published {} = delivered {} + filtered {} + missed {} + queued {}\n",
        why, to_string(tail.writer()), tail.printed_of_board(), account.published, account.delivered, account.filtered,
        account.missed, account.queued);
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

/// Opens the ring. Throws std::runtime_error that lists the existing rings if there is none with this name.
std::unique_ptr<Tail> open(const TailOptions& options) {
    try {
        return std::make_unique<Tail>(options);
    } catch (const market::RingError& error) {
        if (error.fault() != market::RingFault::not_found) throw;
        const auto there = rings();
        throw std::runtime_error(fmt::format("no ring '{}'; {}", options.ring_or_main(),
                                             there.empty() ? "no gateway is running on this machine"
                                                           : fmt::format("there are: {}", fmt::join(there, ", "))));
    }
}

int run(const TailOptions& options) {
    if (options.depth != 0 && options.format == "csv") throw UsageError("--depth: CSV has rows of quotes only");
    if (!options.journal.empty()) return tail_journal(options);
    if (!options.from.empty()) throw UsageError("--from needs --journal FOLDER");
    if (!options.position.empty()) throw UsageError("--position needs --journal FOLDER");
    const auto& stop = service::stop_on_signal();
    const auto ring = options.ring_or_main();
    const auto opened = open(options);
    auto& tail = *opened;
    if (options.depth != 0) check_depth(options.depth, tail.most_levels(), fmt::format("ring '{}'", ring));
    if (!put_out(tail.printer().head())) return 0;
    tail.join();
    tail.name_absent_symbols(fmt::format("on ring '{}'", ring));
    core::Idle idle{core::Poll::block, {.max_wait = std::chrono::milliseconds{5}}};
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
    auto* command = program.add_subcommand(
        "tail", "Print the events of a gateway: first the board, or what its journal has, then new events.");
    command->footer(
        "Prints its account on standard error at the end: how many events were delivered, filtered and missed.\n"
        "Examples:\n"
        "  millpond tail\n"
        "  millpond tail --ring demo --symbol AAPL --symbol MSFT --format json\n"
        "  millpond tail --ring demo --symbol AAPL --depth 5\n"
        "  millpond tail --ring options --format csv --count 1000 > quotes.csv\n"
        "  millpond tail --journal /var/lib/millpond/journal --from 2026-11-20T14:30:00Z --format json\n"
        "  millpond tail --journal /var/lib/millpond/journal --position tail.position >> events.txt");
    auto options = std::make_shared<TailOptions>();
    command->add_option("--ring", options->ring, "the ring's name (main, or that of the journal)");
    command->add_option("--journal", options->journal,
                        "print the events of this journal's folder first, then those of the ring, each once");
    command->add_option("--from", options->from,
                        "of the journal: from the first event received at this time (UTC) on, or from record:N on");
    command->add_option(
        "--position", options->position,
        "continue after the events that an earlier run with this file printed; saved once a second and at the end");
    command->add_option("--symbol", options->symbols, "only this instrument; may be given several times")
        ->allow_extra_args(false);
    command->add_option("--format", options->format, "output format")
        ->one_of({"table", "json", "csv"})
        ->capture_default_str();
    command
        ->add_option("--depth", options->depth,
                     "print the books, up to this many levels of a side, instead of quotes, levels and orders")
        ->check(whole_number(1, market::kMaxBoardDepth));
    command->add_option("--count", options->count, "end after this many events (0: never)")
        ->check(whole_number())
        ->capture_default_str();
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
