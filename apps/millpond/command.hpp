#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>

/// The program's subcommands, one file each. A file `NAME.cpp` offers `Command NAME_command(CLI::App& program)`,
/// declared below, which adds the subcommand with its options and examples; main runs what was chosen.
namespace millpond::app {

struct Command {
    CLI::App* options;         ///< The subcommand as the parser knows it.
    std::function<int()> run;  ///< Called after parsing when the subcommand was chosen; gives the exit code.
};

/// The command line asks for something that makes no sense: exit code 2. Anything else that `run` throws is exit
/// code 1.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

Command completion_command(CLI::App& program);
Command config_command(CLI::App& program);
Command doctor_command(CLI::App& program);
Command fix_command(CLI::App& program);
Command gateway_command(CLI::App& program);
Command generate_command(CLI::App& program);
Command journal_command(CLI::App& program);
Command manual_command(CLI::App& program);
Command replay_command(CLI::App& program);
Command tail_command(CLI::App& program);
Command top_command(CLI::App& program);

}  // namespace millpond::app
