#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "apps/millpond/command_line/fix_example.hpp"
#include "apps/millpond/fix/fix_commands.hpp"

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

std::vector<std::string> fix_example(const std::string& program, const std::function<std::string()>& address) {
    const auto listen = address();
    return {
        fmt::format("{} fix acceptor --fill --acceptor listen={} --session sender=VENUE,target='*'", program, listen),
        fmt::format("echo '35=D|11=a|55=MSFT|54=1|38=100|40=2|44=10.5|60=20261121-09:30:00|' | {} fix initiator "
                    "--session sender=DESK,target=VENUE,hosts={},reset_on_logon=true",
                    program, listen)};
}

}  // namespace millpond::app
