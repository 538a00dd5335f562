#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <millpond/fix/dictionary_xml.hpp>
#include <millpond/fix/header_generator.hpp>

#include "apps/millpond/fix/fix_commands.hpp"

namespace millpond::app {
namespace {

struct Options {
    std::string file;
    fix::HeaderOptions header;
};

int run(const Options& options) {
    std::ifstream file{options.file};
    if (!file) throw std::runtime_error("cannot read " + options.file);
    const std::string xml{std::istreambuf_iterator<char>{file}, {}};
    fmt::print("{}", fix::generate_header(fix::read_dictionary(xml), options.header));
    return 0;
}

}  // namespace

Command fix_generate_command(Arguments& fix) {
    auto options = std::make_shared<Options>();
    auto* command = fix.add_subcommand("generate", "turns a dictionary into a C++ header of tags and typed views");
    command->add_option("FILE", options->file, "the dictionary, in QuickFIX's XML format")->required();
    command->add_option("--namespace", options->header.name_space, "of what is generated")->capture_default_str();
    command->add_option("--message", options->header.message_types, "give this message type a view (default: all)");
    command->footer("Example: millpond fix generate FIX44.xml --namespace fix44 --message D --message 8 > fix44.hpp");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
