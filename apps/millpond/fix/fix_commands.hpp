#pragma once

#include "apps/millpond/command_line/command.hpp"

/// The subcommands of `millpond fix`, one file each.
namespace millpond::app {

Command fix_acceptor_command(Arguments& fix);
Command fix_config_command(Arguments& fix);
Command fix_dictionary_command(Arguments& fix);
Command fix_generate_command(Arguments& fix);
Command fix_import_command(Arguments& fix);
Command fix_initiator_command(Arguments& fix);
Command fix_passwd_command(Arguments& fix);
Command fix_print_command(Arguments& fix);
Command fix_reload_command(Arguments& fix);
Command fix_sessions_command(Arguments& fix);
Command fix_store_command(Arguments& fix);

}  // namespace millpond::app
