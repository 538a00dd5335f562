#include "apps/millpond/fix/fix_commands.hpp"

#include <vector>

namespace millpond::app {

Command fix_command(Arguments& program) {
    auto* options =
        program.add_subcommand("fix", "Run FIX sessions; check settings; inspect stores, logs and dictionaries.");
    options->require_subcommand(1);
    const std::vector<Command> commands{
        fix_acceptor_command(*options), fix_initiator_command(*options), fix_sessions_command(*options),
        fix_print_command(*options),    fix_store_command(*options),     fix_dictionary_command(*options),
        fix_generate_command(*options), fix_import_command(*options),    fix_config_command(*options),
        fix_reload_command(*options),   fix_passwd_command(*options)};
    return {options, [commands] {
                for (const auto& command : commands) {
                    if (command.options->parsed()) return command.run();
                }
                throw UsageError{"fix: a subcommand is needed"};
            }};
}

}  // namespace millpond::app
