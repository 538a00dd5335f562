#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/fix/store_reader.hpp>
#include <millpond/fix/utc_time.hpp>

#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "apps/millpond/fix/fix_dictionary_file.hpp"
#include "fixd/print/fix_printer.hpp"

namespace millpond::app {
namespace {

struct FixStoreOptions {
    std::string file;
    std::string dictionary;
    std::uint64_t first{1};
    std::uint64_t last{0};
    bool verify{false};
    bool print{false};
    bool fields{false};
    std::vector<fix::Tag> mask;
};

void print_missing(const fix::StoreReader& store) {
    if (!store.missing_file()) return;
    fmt::print("{} is missing, the file with the newest messages and both numbers\n", store.missing_file()->string());
}

void inspect(const fix::StoreReader& store) {
    char time[fix::kMaxTimestampChars];
    const std::string_view created{time,
                                   fix::write_utc_timestamp(time, store.creation_utc_ns(), fix::TimePrecision::millis)};
    if (const auto session = store.identity(); !session.empty()) fmt::print("session {}\n", session.name());
    fmt::print("created {}, next to send {}, next expected {}{}\n", created, store.next_sender(), store.next_target(),
               store.owned() ? ", an engine has it open" : "");
    if (store.oldest() == store.next_sender()) {
        fmt::print("no messages\n");
    } else {
        fmt::print("messages {} to {}\n", store.oldest(), store.next_sender() - 1);
    }
    print_missing(store);
    for (const auto& segment : store.segments()) {
        fmt::print("  {}: {} bytes, ", segment.file.string(), segment.data_bytes);
        if (segment.extent.messages == 0) {
            fmt::print("empty\n");
        } else {
            fmt::print("{} messages, {} to {}\n", segment.extent.messages, segment.extent.first,
                       segment.extent.next - 1);
        }
    }
}

/// Verifies a store. Returns 0 if nothing is damaged or missing, else 1.
int verify(const fix::StoreReader& store) {
    const auto found = store.verify();
    print_missing(store);
    fmt::print("{} messages are whole, {} numbers are missing{}, {} are faulty\n", found.messages, found.missing,
               found.skipped == 0 ? "" : fmt::format(" ({} never had a message)", found.skipped), found.faulty);
    for (const auto& fault : found.faults) fmt::print("  {}: {}\n", fault.sequence, fault.what);
    if (found.faulty != 0 && store.owned()) fmt::print("an engine has it open and may be writing to it\n");
    return found.faulty == 0 && !store.missing_file() ? 0 : 1;
}

void print(const fix::StoreReader& store, const FixStoreOptions& options) {
    std::optional<fix::Dictionary> dictionary;
    if (!options.dictionary.empty()) dictionary = dictionary_in(options.dictionary);
    fixd::FixPrinter printer{options.fields ? fixd::FixPrinter::Form::fields : fixd::FixPrinter::Form::one_line,
                             dictionary ? &*dictionary : nullptr, fix::SecretTags{options.mask}};
    store.visit(options.first, options.last, [&](std::uint64_t sequence, std::string_view message) {
        if (options.fields) fmt::print("{}\n", sequence);
        fmt::print("{}", printer.text(message));
    });
}

int run(const FixStoreOptions& options) {
    const fix::StoreReader store{options.file};
    if (!options.verify && !options.print) inspect(store);
    if (options.print) print(store, options);
    return options.verify ? verify(store) : 0;
}

}  // namespace

Command fix_store_command(Arguments& fix) {
    auto options = std::make_shared<FixStoreOptions>();
    auto* command = fix.add_subcommand("store", "Inspect, verify or print the message store of a session.");
    command->add_option("FILE", options->file, "first file of the store")->required();
    command->add_flag("--verify", options->verify, "check that each message is complete; exit code 1 if not");
    auto* print = command->add_flag("--print", options->print, "print the messages");
    command->add_option("--first", options->first, "first message to print (1)")
        ->needs(print)
        ->type_name("N")
        ->check(whole_number());
    command->add_option("--last", options->last, "last message to print; 0 for the newest (0)")
        ->needs(print)
        ->type_name("N")
        ->check(whole_number());
    command
        ->add_option("--mask", options->mask,
                     "hide these tags too, in addition to 554, 925, 1402, 1404 and a Logon's 96")
        ->needs(print)
        ->type_name("TAG,...")
        ->delimiter(',')
        ->check(whole_number(1, 999'999'999));
    command->add_flag("--fields", options->fields, "print one line for each field, with its name and meaning")
        ->needs(print);
    command->add_option("--dictionary", options->dictionary, "names, meanings and groups, in QuickFIX's XML format")
        ->needs(print)
        ->type_name("FILE");
    command->footer(
        "The store is not changed, and the engine may be running.\n"
        "Examples:\n"
        "  millpond fix store desk.store                       its numbers and files\n"
        "  millpond fix store desk.store --verify\n"
        "  millpond fix store desk.store --print --first 100 --last 120 --fields");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
