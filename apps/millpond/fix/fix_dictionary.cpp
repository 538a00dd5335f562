#include <fmt/format.h>

#include <memory>
#include <string>

#include <millpond/fix/dictionary.hpp>

#include "apps/millpond/fix/fix_commands.hpp"
#include "apps/millpond/fix/fix_dictionary_file.hpp"

namespace millpond::app {
namespace {

struct FixDictionaryOptions {
    std::string file;
    std::string message;
};

void print_set(const fix::Dictionary& dictionary, const fix::FieldSet& set, int depth) {
    for (const auto& member : set.members()) {
        const auto* field = dictionary.field(member.tag);
        fmt::print("{:{}}{:>5} {} {}{}\n", "", depth * 4, member.tag, field != nullptr ? field->name : "?",
                   field != nullptr ? name(field->type) : "?", member.required ? ", required" : "");
        if (member.group) print_set(dictionary, *member.group, depth + 1);
    }
}

int run(const FixDictionaryOptions& options) {
    const auto dictionary = dictionary_in(options.file);
    if (options.message.empty()) {
        fmt::print("{}: {} fields, {} messages\n", dictionary.version_name(), dictionary.fields().size(),
                   dictionary.messages().size());
        for (const auto& [type, message] : dictionary.messages()) {
            fmt::print("{:>4} {}{}, {} fields\n", type, message.name, message.admin ? " (session)" : "",
                       message.fields.members().size());
        }
        return 0;
    }
    const auto* message = dictionary.message(options.message);
    if (message == nullptr) throw UsageError{options.file + " has no message of type '" + options.message + "'"};
    fmt::print("{} {}\n", message->type, message->name);
    print_set(dictionary, message->fields, 1);
    return 0;
}

}  // namespace

Command fix_dictionary_command(Arguments& fix) {
    auto options = std::make_shared<FixDictionaryOptions>();
    auto* command =
        fix.add_subcommand("dictionary", "Check and print a dictionary in QuickFIX's XML format or FIX Orchestra.");
    command->add_option("FILE", options->file, "the dictionary")->required();
    command->add_option("--message", options->message, "print the fields of this message type");
    command->footer("Example: millpond fix dictionary FIX44.xml --message D");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
