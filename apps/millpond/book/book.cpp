#include <fmt/format.h>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/whole_file.hpp>

#include "apps/millpond/book/book_source.hpp"
#include "apps/millpond/book/sampler.hpp"
#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/progress.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/journal/journal_folder.hpp"
#include "apps/millpond/top/book_text.hpp"
#include "apps/millpond/top/event_lines.hpp"
#include "service/settings/nearest.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

constexpr std::uint64_t kMaxDepth = 65'536;
constexpr std::uint64_t kDefaultDepth = 10;

struct BookOptions {
    BookSource::Options source;
    std::string at;
    std::string every;
    std::string out;
    std::uint64_t requested_depth{0};  // 0: none
    bool orders{false};
    bool json{false};

    [[nodiscard]] std::uint64_t depth() const noexcept {
        return requested_depth == 0 ? kDefaultDepth : requested_depth;
    }
};

/// Parses an interval such as 1s, 250ms or 5m; returns nanoseconds.
std::int64_t parse_interval(const std::string& text) {
    struct Unit {
        std::string_view name;
        std::int64_t nanos;
    };
    constexpr Unit kUnits[] = {
        {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};
    constexpr std::int64_t kMax = 86'400'000'000'000;
    std::int64_t count = 0;
    const auto* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, count);
    for (const auto& unit : kUnits) {
        const bool fits = error == std::errc{} && count >= 1 && count <= kMax / unit.nanos;
        if (fits && std::string_view{rest, end} == unit.name) return count * unit.nanos;
    }
    throw UsageError(fmt::format("--every: '{}' is not an interval from 1ms to 24h, such as 250ms, 1s or 5m", text));
}

/// Prints or writes the books of the chosen times.
class BookPrinter {
public:
    BookPrinter(const BookOptions& options, BookSource& source) : options_(options), source_(source) {
        if (options.out.empty()) return;
        file_.emplace(options.out);
        if (!options.json) file_->write(book_csv_header(options.depth()));
    }

    void print(std::int64_t time) {
        const auto& followed = source_.followed();
        const auto* const book = followed.book();
        if (book == nullptr) throw std::runtime_error(nothing_up_to(time));
        refuse_more_than(followed.made_of());
        BookPage page{.symbol = feed::Symbol{followed.symbol()},
                      .time = source_.time_text(time),
                      .book = *book,
                      .fault = fault_of(followed),
                      .text = {.decimals = followed.decimals(), .depth = options_.depth(), .orders = options_.orders}};
        ++books_;
        if (!page.fault.empty()) {
            ++incomplete_;
            fault_ = page.fault;
        }
        const auto text = options_.json ? book_json(page) : file_ ? book_csv(page) : book_table(page);
        if (file_) {
            file_->write(text);
        } else {
            static_cast<void>(put_out(text));
        }
    }
    void commit() {
        if (!file_) return;
        file_->commit();
        fmt::print("{} books of '{}' written to '{}', {} of them incomplete\n", books_, options_.source.symbol,
                   options_.out, incomplete_);
    }
    [[nodiscard]] std::uint64_t books() const noexcept { return books_; }
    /// Reason why the newest of the incomplete books is incomplete; empty if all are complete.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
    /// Reason why the book has nothing at the end of its events; empty if it has, or may have.
    [[nodiscard]] std::string empty_since() const {
        const auto& clear = source_.followed().cleared();
        return clear && fault_.empty() ? fmt::format("no orders or levels since {}", clear_text(*clear)) : "";
    }
    [[nodiscard]] std::string nothing_up_to(std::int64_t time) const {
        const auto& followed = source_.followed();
        const auto until = fmt::format("in '{}' up to {}", options_.source.path, source_.time_text(time));
        if (followed.has_unknown_depth()) {
            return fmt::format("levels of '{}' {}, but the journal does not say how many of a side its feed sends",
                               followed.symbol(), until);
        }
        if (followed.has_instrument()) return fmt::format("no orders or levels of '{}' {}", followed.symbol(), until);
        const std::vector<std::string_view> known{followed.symbols().begin(), followed.symbols().end()};
        const auto guess = settings::did_you_mean(followed.symbol(), known);
        return fmt::format("no instrument '{}' {}{}{}", followed.symbol(), until, guess.empty() ? "" : "; ", guess);
    }

private:
    [[nodiscard]] std::string clear_text(const feed::Clear& clear) const {
        const auto* const what = clear.reason == feed::ClearReason::end_of_session ? "the end of the session"
                                 : clear.reason == feed::ClearReason::new_session  ? "the start of a session"
                                                                                   : "a clear by the sender";
        return clear.receive_utc_ns == 0 ? what
                                         : fmt::format("{} at {}", what, source_.time_text(clear.receive_utc_ns));
    }
    /// A feed of levels sends no orders, and perhaps fewer levels than requested.
    void refuse_more_than(market::ChannelDepth made_of) const {
        if (made_of.orders) return;
        if (options_.orders) {
            throw UsageError(
                fmt::format("--orders: '{}' has only levels of '{}'", options_.source.path, options_.source.symbol));
        }
        if (options_.requested_depth > made_of.depth) {
            throw UsageError(fmt::format("--depth: '{}' has {} levels of '{}' a side", options_.source.path,
                                         made_of.depth, options_.source.symbol));
        }
    }
    [[nodiscard]] std::string fault_of(const BookFollower& followed) const {
        const auto& book = *followed.book();
        if (book.complete()) return {};
        if (book.is_open()) return "the group of its last event is not complete";
        const auto first = source_.fault();
        const auto faults = followed.faults();
        if (const auto& clear = followed.cleared(); clear && faults.gaps + faults.missed + faults.marked == 0)
            return fmt::format("no snapshot since {}", clear_text(*clear));
        return faults_text(faults) + (first.empty() ? "" : "; the first is " + first);
    }

    const BookOptions& options_;
    BookSource& source_;
    std::optional<core::WholeFile> file_;
    std::uint64_t books_{0};
    std::uint64_t incomplete_{0};
    std::string fault_;
};

int print_books(const BookOptions& options) {
    if (options.every.empty() != options.out.empty())
        throw UsageError("book: --every INTERVAL and --out FILE need each other");
    if (!options.out.empty() && options.orders && !options.json)
        throw UsageError("--orders: a row of CSV has levels only; add --json");
    const auto every = options.every.empty() ? 0 : parse_interval(options.every);
    const auto& stop = service::stop_on_signal();
    const auto source = open_book_source(options.source);
    std::optional<std::int64_t> at;
    if (!options.at.empty()) at = source->parse_time(options.at);
    if (!options.out.empty()) refuse_own_file(options.source.path, options.out);
    BookPrinter printer{options, *source};
    Sampler sampler{at, every, [&](std::int64_t time) { printer.print(time); }};
    bool is_reached = true;
    {
        Progress progress{"book", source->unit(), source->total()};
        source->read(sampler, progress);
        if (!stop.load(std::memory_order_relaxed))
            is_reached = sampler.finish(source->last_time(), source->has_ended());
    }
    if (stop.load(std::memory_order_relaxed)) {
        to_stderr("stopped by a signal\n");
        return 1;
    }
    if (printer.books() == 0) throw std::runtime_error(printer.nothing_up_to(at.value_or(source->last_time())));
    printer.commit();
    int exit_code = 0;
    if (!printer.fault().empty()) {
        to_stderr("millpond: book: incomplete: {}\n", printer.fault());
        exit_code = kJournalGap;
    }
    if (const auto reason = printer.empty_since(); !reason.empty()) to_stderr("millpond: book: empty: {}\n", reason);
    if (!is_reached) {
        to_stderr("millpond: book: '{}' ends at {}, before {}\n", options.source.path,
                  source->time_text(source->last_time()), source->time_text(*at));
        exit_code = kJournalGap;
    }
    if (const auto damage = source->damage(); !damage.empty()) {
        to_stderr("{}\n", damage);
        exit_code = kJournalDamaged;
    }
    return exit_code;
}

}  // namespace

Command book_command(Arguments& program) {
    auto* command = program.add_subcommand(
        "book", "Print the order book of an instrument at a time, from an ITCH file, a capture or a journal.");
    command->footer(
        "A time without a date is one of New York. Times of an ITCH file are those of its messages, of a capture or a\n"
        "journal those of receipt. Events of the time itself are included.\n"
        "Examples:\n"
        "  millpond book day.itch.gz --symbol AAPL --at 10:15:00 --depth 10\n"
        "  millpond book day.pcap --only 233.54.12.111:26477 --symbol AAPL --orders --json\n"
        "  millpond book /var/lib/millpond/journal --symbol AAPL --at 2026-11-20T15:15:00Z\n"
        "  millpond book day.itch.gz --symbol AAPL --every 1s --out aapl.csv\n"
        "Exit codes: 0 good, 1 failed, 2 usage error, 3 the file is damaged, 4 a book is incomplete, or the file ends\n"
        "before the time.");
    auto options = std::make_shared<BookOptions>();
    command
        ->add_option(
            "FILE", options->source.path,
            "ITCH messages with length prefixes, or a capture of ITCH, also as .gz or .zst; a journal's folder "
            "or one of its segments, with orders or levels")
        ->required();
    command->add_option("--symbol", options->source.symbol, "the instrument")->required()->nonempty();
    command->add_option("--at", options->at,
                        "the time, such as 10:15:00 in New York or 2026-11-20T15:15:00 in UTC (the end of the file)");
    command->add_option("--depth", options->requested_depth, "maximum number of levels of a side (10)")
        ->check(whole_number(1, kMaxDepth));
    command->add_flag("--orders", options->orders, "with the orders of each level, by priority");
    command->add_flag("--json", options->json, "one JSON object in a line for each book");
    command->add_option("--only", options->source.only, "of a capture: only datagrams to this ADDRESS:PORT");
    command->add_option("--every", options->every,
                        "books of all multiples of this interval from the first order on, until --at or the end");
    command->add_option("--out", options->out, "with --every: the file, which is replaced; CSV without --json");
    return {command, [options] { return print_books(*options); }};
}

}  // namespace millpond::app
