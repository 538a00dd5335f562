#include <fmt/format.h>
#include <json/value.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "fixd/admin/admin_server.hpp"
#include "service/json.hpp"

namespace millpond::app {
namespace {

int reload(const std::string& admin, bool as_json) {
    const auto text = fixd::ask_engine(admin, "reload");
    const auto answer = service::parse_json(text);
    if (answer.isMember("error")) throw std::runtime_error(answer["error"].asString());
    const auto& refused = service::member(answer, "refused");
    if (as_json) {
        fmt::print("{}\n", text);
    } else {
        const auto& done = service::member(answer, "done");
        for (const auto& line : done) fmt::print("{}\n", line.asString());
        if (done.empty() && refused.empty()) fmt::print("no changes\n");
        std::fflush(stdout);
        for (const auto& line : refused) to_stderr("millpond: {}\n", line.asString());
    }
    return refused.empty() ? 0 : 1;
}

}  // namespace

Command fix_reload_command(Arguments& fix) {
    auto* command = fix.add_subcommand("reload", "Make a running engine reload its configuration.");
    auto admin = std::make_shared<std::string>();
    auto as_json = std::make_shared<bool>(false);
    command->add_option("--admin", *admin, "the engine's admin socket")->required()->type_name("SOCKET");
    command->add_flag("--json", *as_json, "print the engine's response unchanged");
    command->footer(
        "Prints what changed. Exit code 1: a change was refused, and the old setting is kept; an invalid configuration "
        "changes "
        "nothing.\nSIGHUP does the same; the result is then in the log.\n"
        "Example:\n  millpond fix reload --admin /run/millpond/fix.sock");
    return {command, [admin, as_json] { return reload(*admin, *as_json); }};
}

}  // namespace millpond::app
