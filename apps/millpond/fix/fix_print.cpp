#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/fix/utc_time.hpp>

#include "apps/millpond/fix/fix_commands.hpp"
#include "apps/millpond/fix/fix_text.hpp"
#include "apps/millpond/number_checks.hpp"
#include "fixd/fix_printer.hpp"

namespace millpond::app {
namespace {

struct Options {
    std::string file;
    std::string dictionary;
    std::string session;
    std::vector<std::string> types;
    std::string from;
    std::string to;
    std::string direction;
    std::vector<fix::Tag> mask;
    bool fields{false};
    bool raw{false};
};

std::optional<std::int64_t> time_of(const std::string& text, const char* option) {
    if (text.empty()) return std::nullopt;
    if (const auto time = fix::parse_utc_timestamp(text)) return time;
    if (const auto date = fix::parse_utc_date(text)) return date;
    throw UsageError(
        fmt::format("fix print: {} expects a UTC time like 20261121-09:30:00 or a day, found '{}'", option, text));
}

/// What of the messages is wanted.
class Filter {
public:
    explicit Filter(const Options& options)
        : session_(options.session),
          types_(options.types),
          from_(time_of(options.from, "--from")),
          to_(time_of(options.to, "--to")),
          direction_(options.direction == "in"    ? '<'
                     : options.direction == "out" ? '>'
                                                  : '\0') {}

    [[nodiscard]] bool wants(const FoundMessage& found, const std::optional<fix::Message>& message) const {
        if (direction_ != '\0' && found.direction != direction_) return false;
        if (!session_.empty() && !is_of_session(found, message)) return false;
        if (!types_.empty() && (!message || !is_of_type(message->msg_type()))) return false;
        if (!from_ && !to_) return true;
        auto time = found.utc_ns;
        if (!time && message) time = message->utc_timestamp_ns(fix::tag::kSendingTime);
        return time && (!from_ || *time >= *from_) && (!to_ || *time < *to_);
    }

private:
    [[nodiscard]] bool is_of_session(const FoundMessage& found, const std::optional<fix::Message>& message) const {
        if (found.session.find(session_) != std::string::npos) return true;
        return message && (message->text(fix::tag::kSenderCompId) == session_ ||
                           message->text(fix::tag::kTargetCompId) == session_);
    }
    [[nodiscard]] bool is_of_type(std::string_view type) const {
        for (const auto& wanted : types_) {
            if (wanted == type) return true;
        }
        return false;
    }

    std::string session_;
    std::vector<std::string> types_;
    std::optional<std::int64_t> from_;
    std::optional<std::int64_t> to_;
    char direction_;
};

/// Time, direction and ids: of the log where it says them, else of the message.
std::string heading(const FoundMessage& found, const std::optional<fix::Message>& message) {
    std::string time{"-"};
    std::string session = found.session;
    if (found.utc_ns) {
        char text[fix::kMaxTimestampChars];
        time.assign(text, fix::write_utc_timestamp(text, *found.utc_ns, fix::TimePrecision::nanos));
    } else if (message) {
        time = message->text(fix::tag::kSendingTime).value_or("-");
    }
    if (session.empty() && message) {
        session =
            fmt::format("{}:{}->{}", message->begin_string(), message->text(fix::tag::kSenderCompId).value_or("?"),
                        message->text(fix::tag::kTargetCompId).value_or("?"));
    }
    return fmt::format("{} {} {}", time, found.direction == ' ' ? '-' : found.direction, session);
}

int run(const Options& options) {
    std::optional<fix::Dictionary> dictionary;
    if (!options.dictionary.empty()) dictionary = fixd::read_dictionary_file(options.dictionary);
    const Filter filter{options};
    fixd::FixPrinter printer{options.fields ? fixd::FixPrinter::Form::fields : fixd::FixPrinter::Form::one_line,
                             dictionary ? &*dictionary : nullptr, fix::SecretTags{options.mask}};
    std::ifstream file;
    if (options.file != "-") {
        file.open(options.file, std::ios::binary);
        if (!file) throw std::runtime_error("cannot read " + options.file);
    }
    std::uint64_t faulty = 0;
    std::uint64_t masked = 0;
    std::uint64_t messages = 0;
    std::uint64_t printed = 0;
    find_messages(
        options.file == "-" ? std::cin : file,
        [&](const FoundMessage& found) {
            ++messages;
            const auto message = printer.parse(found.bytes);
            if (!filter.wants(found, message)) return;
            if (!message) ++faulty;
            ++printed;
            if (options.raw && printer.was_masked()) {
                ++masked;
                return;
            }
            if (options.raw) {
                std::fwrite(found.bytes.data(), 1, found.bytes.size(), stdout);
                return;
            }
            const auto in_front = heading(found, message);  // the message ends with the next one that is parsed
            fmt::print("{}{}{}", in_front, options.fields ? "\n" : " ", printer.text(found.bytes));
        },
        [&](std::string_view remark) {
            if (!options.raw) fmt::print("# {}\n", remark);
        });
    const auto fail = [&](const std::string& what) { fmt::print(stderr, "millpond: {}: {}\n", options.file, what); };
    if (faulty != 0) fail(fmt::format("{} that begin like a message are none", faulty));
    if (masked != 0)
        fail(fmt::format("{} masked: their bytes are not those of the wire, so --raw leaves them out", masked));
    if (messages == 0) fail("no FIX message found");
    if (messages != 0 && printed == 0) fail(fmt::format("none of the {} messages is wanted", messages));
    return faulty != 0 || masked != 0 || printed == 0 ? 1 : 0;
}

}  // namespace

Command fix_print_command(Arguments& fix) {
    auto options = std::make_shared<Options>();
    auto* command =
        fix.add_subcommand("print", "Print the FIX messages of a raw log, or of any text with FIX messages.");
    command->add_option("FILE", options->file, "raw log of the engine, another log, or a captured stream; - is stdin")
        ->required();
    command->add_option("--dictionary", options->dictionary, "names, meanings and groups, in QuickFIX's XML format")
        ->type_name("FILE");
    command->add_option("--session", options->session, "only sessions with this text in their name or as a CompID")
        ->type_name("TEXT");
    command->add_option("--type", options->types, "only these MsgTypes")->type_name("TYPE,...")->delimiter(',');
    command->add_option("--from", options->from, "only from this UTC time on: the log's time, otherwise SendingTime")
        ->type_name("TIME");
    command->add_option("--to", options->to, "only before this UTC time")->type_name("TIME");
    command->add_option("--direction", options->direction, "only received or sent messages (raw logs)")
        ->one_of({"in", "out"});
    command->add_option("--mask", options->mask, "hide these tags too, besides 554, 925, 1402, 1404 and a Logon's 96")
        ->type_name("TAG,...")
        ->delimiter(',')
        ->check(whole_number(1, 999'999'999));
    auto* fields = command->add_flag("--fields", options->fields, "one line for each field, with its name and meaning");
    command->add_flag("--raw", options->raw, "the original bytes, one message after the other")->excludes(fields);
    command->footer(
        "A line shows time, direction (< in, > out), session, number and type. [masked]: secrets are hidden.\n"
        "Exit code 1: bytes that are not a message, no message at all, or masked messages with --raw.\n"
        "Examples:\n"
        "  millpond fix print raw.log --type D,8 --from 20261121-09:30:00 --to 20261121-09:31:00\n"
        "  millpond fix print raw.log --fields --dictionary FIX44.xml --session CLIENT\n"
        "  millpond fix print raw.log --direction in --raw | nc 127.0.0.1 5001     send received messages again\n"
        "  echo '8=FIX.4.4|9=5|35=0|10=163|' | millpond fix print - --fields");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
