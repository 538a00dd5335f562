#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <vector>

#include "apps/millpond/command.hpp"

namespace {

constexpr int kFailed = 1;
constexpr int kMisused = 2;

int run_chosen(const std::vector<millpond::app::Command>& commands) {
    try {
        for (const auto& command : commands) {
            if (command.options->parsed()) return command.run();
        }
    } catch (const millpond::app::UsageError& error) {
        fmt::print(stderr, "millpond: {}\n", error.what());
        return kMisused;
    } catch (const std::exception& error) {
        fmt::print(stderr, "millpond: {}\n", error.what());
        return kFailed;
    }
    return kMisused;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // a reader that is gone is an error of the write, not the end of a gateway
    CLI::App program{"Message plumbing for trading systems.", "millpond"};
    program.set_version_flag("--version", MILLPOND_VERSION);
    program.require_subcommand(1);
    const std::vector<millpond::app::Command> commands{
        millpond::app::completion_command(program), millpond::app::config_command(program),
        millpond::app::doctor_command(program),     millpond::app::fix_command(program),
        millpond::app::gateway_command(program),    millpond::app::generate_command(program),
        millpond::app::journal_command(program),    millpond::app::manual_command(program),
        millpond::app::replay_command(program),     millpond::app::tail_command(program),
        millpond::app::top_command(program),
    };
    try {
        program.parse(argc, argv);
    } catch (const CLI::ParseError& outcome) {
        return program.exit(outcome) == 0 ? 0 : kMisused;  // --help and --version come here too, with exit code 0
    }
    return run_chosen(commands);
}
