#include <fmt/format.h>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/whole_file.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/progress.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/command_line/utc_text.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/journal/journal_folder.hpp"
#include "apps/millpond/top/event_lines.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

struct JournalPrintOptions {
    std::string folder;
    std::string format{"table"};
    std::string file;  // output file of export
    std::vector<std::string> symbols;
    std::uint64_t from{0};
    std::string since;
    std::string until;
    std::uint64_t count{0};
    bool follow{false};
};

/// Reads a journal and prints the selected events.
class Printer {
public:
    explicit Printer(const JournalPrintOptions& options)
        : wanted_(options.symbols.begin(), options.symbols.end()),
          without_events_(wanted_),
          count_(options.count),
          format_(format_of(options.format)),
          lines_(format_),
          reader_(options.folder) {
        const auto range = parse_range(options.since, options.until);
        reader_.select(range.since, range.until);
        if (options.from != 0) reader_.seek(options.from);
    }

    /// Reads a batch of records; returns their number.
    std::size_t poll() { return reader_.poll(*this, kRound); }

    template <class Event>
    void on(const Event& event) {
        if (over()) return;
        feed::InstrumentId id = feed::kNoInstrument;
        if constexpr (requires { event.instrument; }) id = event.instrument;
        if (!wants(id)) return;
        if (id != feed::kNoInstrument && !without_events_.empty()) note_event_of(id);
        const auto before = lines_.lines().size();
        lines_.write(event, reader_.current().ring);
        if (lines_.lines().size() != before) ++printed_;  // some events have no CSV row
    }
    void on(const journal::LostRecord& lost) {
        if (over()) return;
        lines_.write(lost);
        lost_ += lost.count();
        if (lost.reason == journal::LostReason::damaged) exit_code_ = kJournalDamaged;
    }

    /// Whether the requested number of events has been printed.
    [[nodiscard]] bool over() const noexcept { return count_ != 0 && printed_ >= count_; }
    [[nodiscard]] EventLines& lines() noexcept { return lines_; }
    [[nodiscard]] const journal::JournalReader& reader() const noexcept { return reader_; }
    /// Prints the segments that were found damaged since the last call.
    void name_faults() {
        for (const auto& fault : reader_.drain_faults()) {
            to_stderr("{}\n", fault);
            exit_code_ = kJournalDamaged;
        }
    }
    /// Prints the requested symbols without an event, if the whole selection has been read.
    void name_absent_symbols() const {
        if (over() || without_events_.empty()) return;
        to_stderr("symbols without events: {}\n", fmt::join(without_events_, ", "));
    }
    [[nodiscard]] int exit_code() const noexcept { return exit_code_; }
    [[nodiscard]] std::uint64_t printed() const noexcept { return printed_; }
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

private:
    static constexpr std::size_t kRound = 1'024;

    /// Whether the instrument is selected. Also updates names: in a new epoch ids belong to other instruments, and a
    /// name that is damaged in one segment is repeated in the next.
    bool wants(feed::InstrumentId id) {
        if (reader_.current().epoch != epoch_) {
            epoch_ = reader_.current().epoch;
            lines_.forget_names();
            is_wanted_.clear();
            is_named_.clear();
        }
        if (id == feed::kNoInstrument) return true;
        while (lines_.named() <= id) {
            const feed::Symbol number{fmt::format("#{}", lines_.named())};
            lines_.name(number, feed::kDefaultDecimals);
            is_wanted_.push_back(is_wanted(number));
            is_named_.push_back(false);
        }
        if (is_named_[id]) return is_wanted_[id];
        if (const auto* instrument = reader_.instrument(id)) {
            lines_.rename(id, instrument->symbol, instrument->decimals);
            is_wanted_[id] = is_wanted(instrument->symbol);
            is_named_[id] = true;
        }
        return is_wanted_[id];
    }
    void note_event_of(feed::InstrumentId id) {
        const auto* instrument = reader_.instrument(id);
        const auto found = without_events_.find(instrument != nullptr ? std::string{instrument->symbol.view()}
                                                                      : fmt::format("#{}", id));
        if (found != without_events_.end()) without_events_.erase(found);
    }
    [[nodiscard]] bool is_wanted(const feed::Symbol& symbol) const {
        return wanted_.empty() || wanted_.contains(symbol.view());
    }

    std::set<std::string, std::less<>> wanted_;
    std::set<std::string, std::less<>> without_events_;  // requested symbols without an event so far
    std::vector<bool> is_wanted_;
    std::vector<bool> is_named_;  // false: shown by number so far
    std::uint64_t count_;
    LineFormat format_;
    EventLines lines_;
    journal::JournalReader reader_;
    std::uint64_t epoch_{0};
    std::uint64_t printed_{0};
    std::uint64_t lost_{0};
    int exit_code_{0};
};

int print(const JournalPrintOptions& options) {
    constexpr std::chrono::milliseconds kWhileNothingComes{5};
    const auto& stop = service::stop_on_signal();
    static_cast<void>(segments_of(options.folder));  // throws if it is not a journal
    Printer printer{options};
    if (!put_out(printer.lines().head())) return 0;
    while (!stop.load(std::memory_order_relaxed) && !printer.over()) {
        const auto printed = printer.poll();
        if (!put_out(printer.lines().lines())) return 0;
        printer.lines().clear();
        printer.name_faults();
        if (printed != 0) continue;
        if (!options.follow) break;
        std::this_thread::sleep_for(kWhileNothingComes);
    }
    if (!stop.load(std::memory_order_relaxed)) printer.name_absent_symbols();
    return printer.exit_code();
}

int write_file(const JournalPrintOptions& options) {
    const auto& stop = service::stop_on_signal();
    const auto segments = segments_of(options.folder);
    refuse_own_file(options.folder, options.file);
    Printer printer{options};
    std::uint64_t last = 0;
    for (const auto& segment : segments) last = std::max(last, segment.next_record);
    core::WholeFile file{options.file};
    {
        Progress progress{"export", "records", last == 0 ? 0 : last - 1};
        file.write(printer.lines().head());
        while (!stop.load(std::memory_order_relaxed) && !printer.over() && printer.poll() != 0) {
            file.write(printer.lines().lines());
            printer.lines().clear();
            progress.at(printer.reader().next_record() - 1);
        }
    }
    printer.name_faults();
    if (stop.load(std::memory_order_relaxed)) {
        to_stderr("stopped by a signal; '{}' was not written\n", options.file);
        return 1;
    }
    file.commit();
    printer.name_absent_symbols();
    fmt::print("{} {} written to '{}'; {} events were lost before\n", printer.printed(),
               options.format == "csv" ? "rows" : "events", options.file, printer.lost());
    return printer.exit_code();
}

/// Options of both cat and export.
std::shared_ptr<JournalPrintOptions> add_selection(Arguments& command) {
    auto options = std::make_shared<JournalPrintOptions>();
    command.add_option("FOLDER", options->folder, "the journal's folder")->required();
    auto* from =
        command.add_option("--from", options->from, "start at the record with this number")->check(whole_number());
    command
        .add_option("--since", options->since,
                    "only events received from this time on, UTC, such as 2026-11-20T14:30:00")
        ->excludes(from);
    command.add_option("--until", options->until, "only events received before this time");
    command
        .add_option("--symbol", options->symbols,
                    "only this instrument; may be given several times. Symbols without events are named at the end")
        ->allow_extra_args(false);
    command.add_option("--count", options->count, "end after this many events that have a line or row (0: never)")
        ->check(whole_number())
        ->capture_default_str();
    return options;
}

}  // namespace

Command journal_cat_command(Arguments& journal) {
    auto* command = journal.add_subcommand("cat", "Print the events of a journal, and the losses between them.");
    auto options = add_selection(*command);
    command->add_option("--format", options->format, "output format")
        ->one_of({"table", "json", "csv"})
        ->capture_default_str();
    command->add_flag("--follow", options->follow, "continue with new events, until Ctrl-C");
    return {command, [options] { return print(*options); }};
}

Command journal_export_command(Arguments& journal) {
    auto* command = journal.add_subcommand("export", "Write the events of a journal to a file, with a progress line.");
    auto options = add_selection(*command);
    command->add_option("FORMAT", options->format, "csv (quotes and gaps) or json (one line for each event)")
        ->one_of({"json", "csv"})
        ->required();
    command->add_option("FILE", options->file, "the file, which is replaced")->required();
    command->footer("Parquet files: `python -m millpond export JOURNAL FOLDER`, of the Python package.");
    return {command, [options] { return write_file(*options); }};
}

}  // namespace millpond::app
