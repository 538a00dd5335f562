#include <fmt/format.h>

#include <memory>
#include <string>

#include <millpond/fix/header_generator.hpp>

#include "apps/millpond/fix/fix_commands.hpp"
#include "apps/millpond/fix/fix_dictionary_file.hpp"

namespace millpond::app {
namespace {

struct FixGenerateOptions {
    std::string file;
    fix::HeaderOptions header;
};

int run(const FixGenerateOptions& options) {
    fmt::print("{}", fix::generate_header(dictionary_in(options.file), options.header));
    return 0;
}

}  // namespace

Command fix_generate_command(Arguments& fix) {
    auto options = std::make_shared<FixGenerateOptions>();
    auto* command = fix.add_subcommand("generate", "Write a dictionary as a C++ header with tags and typed views.");
    command->add_option("FILE", options->file, "the dictionary, in QuickFIX's XML format")->required();
    command->add_option("--namespace", options->header.name_space, "namespace of the header")->capture_default_str();
    command->add_option("--message", options->header.message_types,
                        "generate a view of this message type (default: all)");
    command->footer("Example: millpond fix generate FIX44.xml --namespace fix44 --message D --message 8 > fix44.hpp");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
