#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "fixd/quickfix/quickfix_import.hpp"
#include "service/settings/toml.hpp"

namespace millpond::app {
namespace {

struct FixImportOptions {
    std::string file;
    std::string out;
};

int run(const FixImportOptions& options) {
    std::error_code neither;
    if (std::filesystem::equivalent(options.file, options.out, neither)) {
        throw std::runtime_error(fmt::format("--out: '{}' is the file to import; choose another one", options.out));
    }
    const auto result = fixd::import_quickfix(settings::text_of(options.file), options.file);
    if (options.out.empty()) {
        fmt::print("{}", result.toml);
    } else {
        std::ofstream out{options.out};
        out << result.toml;
        out.close();
        if (!out) throw std::runtime_error(fmt::format("cannot write '{}'", options.out));
    }
    for (const auto& [line, key, reason] : result.left_out) {
        to_stderr("{}:{}: left out: {}: {}\n", options.file, line, key, reason);
    }
    return 0;
}

}  // namespace

Command fix_import_command(Arguments& fix) {
    auto options = std::make_shared<FixImportOptions>();
    auto* command = fix.add_subcommand("import", "Convert a settings file of QuickFIX or QuickFIX/J.");
    command->add_option("FILE", options->file, "the settings file, with [DEFAULT] and [SESSION]")->required();
    command->add_option("--out", options->out, "write the TOML to this file instead of standard output")
        ->type_name("FILE");
    command->footer(
        "Settings without a counterpart are listed with the reason, as comments and on standard error.\n"
        "Example:\n"
        "  millpond fix import quickfix.cfg --out fix.toml && millpond fix config check fix.toml");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
