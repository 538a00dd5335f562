#pragma once

#include "apps/millpond/command.hpp"

/// The subcommands of `millpond journal`; `ls` stands beside the group itself.
namespace millpond::app {

Command journal_cat_command(CLI::App& journal);
Command journal_export_command(CLI::App& journal);
Command journal_verify_command(CLI::App& journal);

}  // namespace millpond::app
