#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <poll.h>

#include <millpond/files/file_contents.hpp>
#include <millpond/fix/utc_time.hpp>

#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/fix/file_follower.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "apps/millpond/fix/fix_dictionary_file.hpp"
#include "fixd/print/fix_printer.hpp"
#include "fixd/print/message_finder.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

/// Interval at which a followed file is checked.
constexpr int kLookEveryMs = 100;

struct FixPrintOptions {
    std::string file;
    std::vector<std::string> dictionaries;
    std::string session;
    std::vector<std::string> types;
    std::vector<std::string> fields_wanted;
    std::string from;
    std::string to;
    std::string direction;
    std::vector<fix::Tag> mask;
    bool fields{false};
    bool raw{false};
    bool json{false};
    bool follow{false};
};

std::optional<std::int64_t> time_of(const std::string& text, const char* option) {
    if (text.empty()) return std::nullopt;
    if (const auto time = fix::parse_utc_timestamp(text)) return time;
    if (const auto date = fix::parse_utc_date(text)) return date;
    throw UsageError(
        fmt::format("fix print: {} expects a UTC time like 20261121-09:30:00 or a day, found '{}'", option, text));
}

struct WantedField {
    fix::Tag tag;
    std::string value;
};

/// Parses a filter such as "55=MSFT".
WantedField wanted_field(const std::string& text) {
    const auto equals = text.find('=');
    fix::Tag tag = 0;
    const auto* const begin = text.data();
    const auto* const end = begin + std::min(equals, text.size());
    const auto [stop, error] = std::from_chars(begin, end, tag);
    if (equals == std::string::npos || error != std::errc{} || stop != end || tag == 0) {
        throw UsageError(fmt::format("fix print: --field expects TAG=VALUE like 55=MSFT, found '{}'", text));
    }
    return {.tag = tag, .value = text.substr(equals + 1)};
}

/// Selects messages by type and fields.
class Filter {
public:
    explicit Filter(const FixPrintOptions& options)
        : session_(options.session),
          types_(options.types),
          from_(time_of(options.from, "--from")),
          to_(time_of(options.to, "--to")),
          direction_(options.direction == "in"    ? '<'
                     : options.direction == "out" ? '>'
                                                  : '\0') {
        for (const auto& text : options.fields_wanted) fields_.push_back(wanted_field(text));
    }

    [[nodiscard]] bool wants(const fixd::FoundMessage& found, const std::optional<fix::Message>& message) const {
        if (direction_ != '\0' && found.direction != direction_) return false;
        if (!session_.empty() && !is_of_session(found, message)) return false;
        if (!types_.empty() && (!message || std::ranges::find(types_, message->msg_type()) == types_.end())) {
            return false;
        }
        for (const auto& field : fields_) {
            if (!message || !has(*message, field)) return false;
        }
        if (!from_ && !to_) return true;
        auto time = found.utc_ns;
        if (!time && message) time = message->utc_timestamp_ns(fix::tag::kSendingTime);
        return time && (!from_ || *time >= *from_) && (!to_ || *time < *to_);
    }

private:
    [[nodiscard]] bool is_of_session(const fixd::FoundMessage& found,
                                     const std::optional<fix::Message>& message) const {
        if (found.session.find(session_) != std::string::npos) return true;
        return message && (message->text(fix::tag::kSenderCompId) == session_ ||
                           message->text(fix::tag::kTargetCompId) == session_);
    }
    /// Whether the message has the field, including in any instance of a group.
    [[nodiscard]] static bool has(const fix::Message& message, const WantedField& wanted) {
        return std::ranges::any_of(message.fields(), [&](const fix::Field& field) {
            return field.tag == wanted.tag && message.value(field) == wanted.value;
        });
    }

    std::string session_;
    std::vector<std::string> types_;
    std::vector<WantedField> fields_;
    std::optional<std::int64_t> from_;
    std::optional<std::int64_t> to_;
    char direction_;
};

/// Returns time, direction and ids: from the log if it has them, otherwise from the message.
std::string heading(const fixd::FoundMessage& found, const std::optional<fix::Message>& message) {
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
    return fmt::format("{} {} {}", time, found.direction == ' ' ? '-' : found.direction,
                       session.empty() ? "-" : session);
}

std::vector<fix::Dictionary> read_dictionaries(const std::vector<std::string>& files) {
    std::vector<fix::Dictionary> all;
    for (const auto& file : files) all.push_back(dictionary_in(file));
    return all;
}

std::vector<const fix::Dictionary*> pointers_to(const std::vector<fix::Dictionary>& dictionaries) {
    std::vector<const fix::Dictionary*> pointers;
    for (const auto& dictionary : dictionaries) pointers.push_back(&dictionary);
    return pointers;
}

/// Prints selected messages and counts all messages.
class Printing {
public:
    explicit Printing(const FixPrintOptions& options)
        : options_(&options),
          dictionaries_(read_dictionaries(options.dictionaries)),
          filter_(options),
          printer_(options.json     ? fixd::FixPrinter::Form::json
                   : options.fields ? fixd::FixPrinter::Form::fields
                                    : fixd::FixPrinter::Form::one_line,
                   pointers_to(dictionaries_), fix::SecretTags{options.mask}) {}

    void print(const fixd::FoundMessage& found) {
        ++messages_;
        const auto message = printer_.parse(found.bytes);
        if (!filter_.wants(found, message)) return;
        ++printed_;
        if (!message && faulty_++ == 0) first_faulty_at_ = found.at;
        if (options_->raw) {
            if (printer_.was_masked() || printer_.has_secrets(found.bytes)) {
                ++masked_;
            } else {
                std::fwrite(found.bytes.data(), 1, found.bytes.size(), stdout);
            }
            return;
        }
        const auto in_front = heading(found, message);  // `message` is invalid after the next parse
        const auto text = printer_.text(found.bytes);
        if (!message) {
            // With JSON, standard output has only messages.
            fmt::print(options_->json ? stderr : stdout, "{} byte {}: {}", in_front, found.at, text);
        } else if (options_->json) {
            fmt::print("{}", text);
        } else {
            fmt::print("{}{}{}", in_front, options_->fields ? "\n" : " ", text);
        }
    }
    void remark(std::string_view text) const {
        if (!options_->raw && !options_->json) fmt::print("# {}\n", text);
    }
    /// Reports errors and returns the exit code. complete: the text has ended.
    [[nodiscard]] int result(bool complete) const {
        const auto fail = [&](const std::string& what) { to_stderr("millpond: {}: {}\n", options_->file, what); };
        if (faulty_ != 0) {
            fail(fmt::format("{} that begin like a message are not one, the first at byte {}", faulty_,
                             first_faulty_at_));
        }
        if (masked_ != 0) {
            fail(fmt::format("{} with secrets, which are masked or would be: --raw leaves them out", masked_));
        }
        const bool nothing = complete && printed_ == 0;
        if (nothing) {
            fail(messages_ == 0 ? "no FIX message found" : fmt::format("none of the {} messages matches", messages_));
        }
        return faulty_ != 0 || masked_ != 0 || nothing ? 1 : 0;
    }

private:
    const FixPrintOptions* options_;
    std::vector<fix::Dictionary> dictionaries_;
    Filter filter_;
    fixd::FixPrinter printer_;
    std::uint64_t faulty_{0};
    std::uint64_t first_faulty_at_{0};
    std::uint64_t masked_{0};
    std::uint64_t messages_{0};
    std::uint64_t printed_{0};
};

/// Follows the file until a signal arrives.
void follow(const std::string& path, fixd::MessageFinder& finder) {
    const auto& stop = service::stop_on_signal();
    FileFollower file{path};
    const auto event = [&](FileFollower::Event what) {
        finder.finish();
        switch (what) {
            case FileFollower::Event::missing: return to_stderr("millpond: waiting for {}\n", path);
            case FileFollower::Event::replaced: return to_stderr("millpond: {} was replaced\n", path);
            case FileFollower::Event::skipped:
                return to_stderr("millpond: a file that followed {} was removed or cannot be read\n", path);
            case FileFollower::Event::truncated: return to_stderr("millpond: {} was truncated\n", path);
        }
    };
    while (!stop.load(std::memory_order_relaxed)) {
        const bool any = file.poll([&](std::string_view bytes) { finder.append(bytes); }, event);
        std::fflush(stdout);
        if (std::ferror(stdout) != 0) return;  // the reader, such as `head`, has closed the pipe
        if (!any) ::poll(nullptr, 0, kLookEveryMs);
    }
    finder.finish();
}

void read_all(const std::string& path, fixd::MessageFinder& finder) {
    files::FileContents contents{path == "-" ? "/dev/stdin" : path};
    for (auto bytes = contents.next(); !bytes.empty(); bytes = contents.next()) {
        finder.append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    finder.finish();
}

int run(const FixPrintOptions& options) {
    if (options.follow && options.file == "-") throw UsageError{"fix print: --follow needs a file"};
    Printing printing{options};
    fixd::MessageFinder finder{[&](const fixd::FoundMessage& found) { printing.print(found); },
                               [&](std::string_view text) { printing.remark(text); }};
    if (options.follow) {
        follow(options.file, finder);
    } else {
        read_all(options.file, finder);
    }
    return printing.result(!options.follow);
}

}  // namespace

Command fix_print_command(Arguments& fix) {
    auto options = std::make_shared<FixPrintOptions>();
    auto* command =
        fix.add_subcommand("print", "Print the FIX messages of a raw log, or of any text with FIX messages.");
    command
        ->add_option("FILE", options->file,
                     "raw log of the engine, another log, or a captured stream, also .zst and .gz; - is stdin")
        ->required();
    command
        ->add_option("--dictionary", options->dictionaries,
                     "names, meanings and groups, in QuickFIX's XML format or FIX Orchestra; if there are several, a "
                     "message uses the one of its application version")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command->add_option("--session", options->session, "only sessions with this text in their name or as a CompID")
        ->type_name("TEXT");
    command->add_option("--type", options->types, "only these MsgTypes")->type_name("TYPE,...")->delimiter(',');
    command->add_option("--from", options->from, "only from this UTC time on: the log's time, otherwise SendingTime")
        ->type_name("TIME");
    command->add_option("--to", options->to, "only before this UTC time")->type_name("TIME");
    command->add_option("--direction", options->direction, "only received or sent messages (raw logs)")
        ->one_of({"in", "out"});
    command
        ->add_option("--field", options->fields_wanted,
                     "only messages that have this field, in a group too; may be given several times")
        ->type_name("TAG=VALUE")
        ->allow_extra_args(false);
    command
        ->add_option("--mask", options->mask,
                     "hide these tags too, in addition to 554, 925, 1402, 1404 and a Logon's 96; --raw leaves such "
                     "messages out")
        ->type_name("TAG,...")
        ->delimiter(',')
        ->check(whole_number(1, 999'999'999));
    auto* fields = command->add_flag("--fields", options->fields, "one line for each field, with its name and meaning");
    auto* raw =
        command->add_flag("--raw", options->raw, "the original bytes, one message after the other")->excludes(fields);
    command
        ->add_flag("--json", options->json,
                   "one object for each message, in FIX's JSON encoding; --dictionary makes groups arrays of objects")
        ->excludes(fields)
        ->excludes(raw);
    command->add_flag(
        "--follow", options->follow,
        "follow what is appended, through rotation and truncation, until a signal; FILE may be created later");
    command->footer(
        "A line shows time, direction (< in, > out), session, number and type. [masked]: secrets are hidden.\n"
        "Bytes that begin like a message but are not one are printed with their offset in FILE and the reason.\n"
        "Exit code 1: such bytes, no message at all, or messages with secrets, which --raw leaves out.\n"
        "Examples:\n"
        "  millpond fix print raw.log --type D,8 --from 20261121-09:30:00 --to 20261121-09:31:00\n"
        "  millpond fix print raw.log --fields --dictionary FIX44.xml --session CLIENT\n"
        "  millpond fix print raw.log --follow --type 8 --field 55=MSFT --json --dictionary FIX44.xml\n"
        "  millpond fix print raw.log --direction in --raw | nc 127.0.0.1 5001     replay received messages\n"
        "  echo '8=FIX.4.4|9=5|35=0|10=163|' | millpond fix print - --fields");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
