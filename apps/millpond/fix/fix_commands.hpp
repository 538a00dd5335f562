#pragma once

#include "apps/millpond/command.hpp"

/// The subcommands of `millpond fix`, one file each.
namespace millpond::app {

Command fix_acceptor_command(CLI::App& fix);
Command fix_dictionary_command(CLI::App& fix);
Command fix_generate_command(CLI::App& fix);
Command fix_initiator_command(CLI::App& fix);
Command fix_print_command(CLI::App& fix);
Command fix_sessions_command(CLI::App& fix);
Command fix_store_command(CLI::App& fix);

}  // namespace millpond::app
