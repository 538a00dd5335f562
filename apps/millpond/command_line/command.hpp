#pragma once

#include <functional>
#include <stdexcept>

#include "apps/millpond/command_line/arguments.hpp"

/// The program's subcommands, one file each. A file `NAME.cpp` defines `Command NAME_command(Arguments& program)`,
/// declared below, which adds the subcommand with its options and examples; main runs the chosen subcommand.
namespace millpond::app {

struct Command {
    Arguments* options;        ///< Options and operands of the subcommand.
    std::function<int()> run;  ///< Called after parsing if the subcommand was chosen; returns the exit code.
};

/// An invalid command line: exit code 2. Any other exception of `run` is exit code 1.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

Command book_command(Arguments& program);
Command capture_report_command(Arguments& program);
Command completion_command(Arguments& program);
Command config_command(Arguments& program);
Command demo_command(Arguments& program);
Command doctor_command(Arguments& program);
Command events_command(Arguments& program);
Command fix_command(Arguments& program);
Command gateway_command(Arguments& program);
Command generate_command(Arguments& program);
Command init_command(Arguments& program);
Command journal_command(Arguments& program);
Command manual_command(Arguments& program);
Command replay_command(Arguments& program);
Command tail_command(Arguments& program);
Command top_command(Arguments& program);

}  // namespace millpond::app
