#include <fmt/format.h>
#include <json/value.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <millpond/fix/wire_bounds.hpp>

#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "fixd/admin/admin_server.hpp"
#include "fixd/admin/logout_reason.hpp"
#include "fixd/print/fix_printer.hpp"
#include "service/json.hpp"

namespace millpond::app {
namespace {

struct FixSessionsOptions {
    std::string admin;
    std::string session;
    std::string reason{"requested by the operator"};
    std::optional<std::uint64_t> next_sender{};
    std::optional<std::uint64_t> next_target{};
    bool json{false};
    bool all{false};
    bool force{false};
};

/// Returns a member as text for a terminal; empty if there is none.
std::string value(const Json::Value& object, const char* name) {
    return object.isMember(name) ? fixd::shown(object[name].asString()) : std::string{};
}

/// Sends a request and returns the engine's answer, which is printed with --json.
Json::Value asked(const FixSessionsOptions& options, const std::string& request) {
    const auto text = fixd::ask_engine(options.admin, request);
    if (options.json) fmt::print("{}\n", text);
    return service::parse_json(text);
}

/// Throws std::runtime_error if the answer is an error.
void need_success(const Json::Value& answer) {
    if (answer.isMember("error")) throw std::runtime_error(value(answer, "error"));
}

int list(const FixSessionsOptions& options) {
    const auto answer = asked(options, "list");
    need_success(answer);
    if (options.json) return 0;
    fmt::print("{:<32} {:<15} {:<22} {:>10} {:>10} {:>10} {:>10} {}\n", "session", "state", "peer", "next out",
               "next in", "sent", "received", "last closed");
    for (const auto& session : service::member(answer, "sessions")) {
        const auto state = value(session, "enabled") == "false" ? "disabled" : value(session, "state");
        fmt::print("{:<32} {:<15} {:<22} {:>10} {:>10} {:>10} {:>10} {}\n", value(session, "name"), state,
                   value(session, "peer"), value(session, "next_sender"), value(session, "next_target"),
                   value(session, "sent"), value(session, "received"), value(session, "last_closed"));
        const auto standby = value(session, "standby");
        if (standby == "lost" || standby == "superseded" || standby == "filling") {
            fmt::print("  ! standby {}: messages not acknowledged: {}, losses: {}\n", standby,
                       value(session, "standby_behind"), value(session, "standby_losses"));
        }
        if (const auto lost = value(session, "history_lost"); !lost.empty() && lost != "0") {
            fmt::print(
                "  ! history lost: {} messages that the counterparty requested were not in the store; it got {} "
                "gap fills in their place. A store file with a larger keep_bytes keeps more.\n",
                lost, value(session, "history_lost_fills"));
        }
    }
    return 0;
}

/// Promotes sessions and prints the promoted ones; others may have failed.
int promoted(const FixSessionsOptions& options) {
    const auto session = options.all ? std::string{"*"} : options.session;
    const auto answer = asked(options, "promote\t" + session + "\t" + (options.force ? "force" : "-"));
    if (!options.json && answer.isMember("promoted")) {
        for (const auto& one : answer["promoted"]) {
            fmt::print("{} runs here: epoch {}, next out {}, next in {}\n", value(one, "name"), value(one, "epoch"),
                       value(one, "next_sender"), value(one, "next_target"));
        }
    }
    need_success(answer);
    if (!options.json && answer["promoted"].empty()) fmt::print("nothing to promote\n");
    return 0;
}

int done(const FixSessionsOptions& options, const std::string& request) {
    need_success(asked(options, request));
    return 0;
}

/// Formats a number, or "-" if there is none.
std::string number(const std::optional<std::uint64_t>& value) { return value ? fmt::format("{}", *value) : "-"; }

}  // namespace

Command fix_sessions_command(Arguments& fix) {
    auto options = std::make_shared<FixSessionsOptions>();
    auto* command = fix.add_subcommand("sessions", "List and control the sessions of a running engine.");
    command->require_subcommand(1);
    command->footer(
        "The engine runs with --admin SOCKET. SESSION is a name as `list` shows it, or a part that only one name has.\n"
        "Examples:\n"
        "  millpond fix sessions list --admin /run/millpond/fix.sock\n"
        "  millpond fix sessions disable DESK --admin /run/millpond/fix.sock\n"
        "  millpond fix sessions logout DESK --reason 'end of the day' --admin /run/millpond/fix.sock\n"
        "  millpond fix sessions promote --all --admin /run/millpond/fix.sock\n"
        "  millpond fix sessions set-seq DESK --next-in 1057 --admin /run/millpond/fix.sock");
    const auto add = [&](const char* name, const char* help) {
        auto* one = command->add_subcommand(name, help);
        one->add_option("--admin", options->admin, "the engine's admin socket")->required()->type_name("SOCKET");
        one->add_flag("--json", options->json, "print the engine's response unchanged");
        return one;
    };
    const auto add_session = [&](Arguments* one) {
        one->add_option("SESSION", options->session, "name, or a part of it")->required();
        return one;
    };
    auto* list_command = add("list", "state, peer, sequence numbers and counts of each session");
    auto* logout = add_session(add("logout", "log out; an initiator does not connect again until `logon`"));
    logout->add_option("--reason", options->reason, "Text(58) of the Logout")->type_name("TEXT");
    auto* logon = add_session(add("logon", "allow logons again after `logout`"));
    auto* disable = add_session(add("disable", "the same as `logout`: the session stays out until `enable`"));
    disable->add_option("--reason", options->reason, "Text(58) of the Logout")->type_name("TEXT");
    auto* enable = add_session(add("enable", "the same as `logon`"));
    auto* reset = add_session(add("reset", "reset both sequence numbers; a session that is logged on logs out first"));
    auto* promote =
        add("promote", "run sessions here: those of a standby, and those that another machine has taken over");
    promote->add_option("SESSION", options->session, "name, or a part of it");
    promote->add_flag("--all", options->all, "every session that this engine is the standby of");
    promote->add_flag("--force", options->force, "also a copy that lacks messages which the counterparty may have");
    auto* set = add_session(add("set-seq", "set the sequence numbers of a disconnected session"));
    set->add_option("--next-out", options->next_sender, "of the next message that we send")
        ->type_name("N")
        ->check(whole_number(1, fix::kMaxSequence));
    set->add_option("--next-in", options->next_target, "of the next message that we expect")
        ->type_name("N")
        ->check(whole_number(1, fix::kMaxSequence));
    return {command, [=] {
                if (list_command->parsed()) return list(*options);
                if (logout->parsed() || disable->parsed()) {
                    if (const auto fault = fixd::fault_of_reason(options->reason); !fault.empty()) {
                        throw UsageError{"fix sessions logout: --reason: " + fault};
                    }
                    return done(*options, "logout\t" + options->session + "\t" + options->reason);
                }
                if (logon->parsed() || enable->parsed()) return done(*options, "logon\t" + options->session);
                if (promote->parsed()) {
                    if (options->all == !options->session.empty()) {
                        throw UsageError{"fix sessions promote: give SESSION or --all"};
                    }
                    return promoted(*options);
                }
                if (reset->parsed()) return done(*options, "reset\t" + options->session);
                if (set->parsed() && !options->next_sender && !options->next_target) {
                    throw UsageError{"fix sessions set-seq: needs --next-out, --next-in or both, each at least 1"};
                }
                return done(*options, "set-seq\t" + options->session + "\t" + number(options->next_sender) + "\t" +
                                          number(options->next_target));
            }};
}

}  // namespace millpond::app
