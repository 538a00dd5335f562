// Replaces the other files of this folder in a program that is built without the FIX engine.
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/fix_example.hpp"

namespace millpond::app {

Command fix_command(Arguments& program) {
    static constexpr auto kLeftOut =
        "this program was built without the FIX engine, as by `make demo`; build all of it with "
        "`cmake --preset release && cmake --build --preset release`";
    auto* options = program.add_subcommand("fix", "Not in this program: it was built without the FIX engine.");
    options->add_option(
        "command", [](const std::vector<std::string>&) { throw ParseError{kLeftOut}; },
        "any of the FIX engine's commands");
    return {options, []() -> int { throw std::runtime_error(std::string{"fix: "} + kLeftOut); }};
}

std::vector<std::string> fix_example(const std::string&, const std::function<std::string()>&) { return {}; }

}  // namespace millpond::app
