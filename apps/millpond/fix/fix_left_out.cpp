// Takes the place of the other files of this folder in a program that was built without the FIX engine.
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/millpond/command.hpp"

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

}  // namespace millpond::app
