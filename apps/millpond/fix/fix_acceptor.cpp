#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "apps/millpond/fix/fix_echo.hpp"
#include "apps/millpond/fix/fix_flags.hpp"
#include "apps/millpond/fix/fix_run.hpp"
#include "fixd/applications/fill_application.hpp"
#include "fixd/applications/print_application.hpp"
#include "fixd/fix_engine.hpp"

namespace millpond::app {
namespace {

struct FixAcceptorOptions {
    FixFlags flags;
    bool echo{false};
    bool fill{false};
    std::string address;
    std::optional<std::uint16_t> port;
};

/// A session that --echo uses if none is configured, as expected by the acceptance scripts of QuickFIX and, for FIX
/// Latest, of QuickFIX/J.
struct Offered {
    const char* target;
    fix::ApplicationVersion version;
    bool fields_have_values{true};
    bool appl_ver_id_in_business_reject{true};
};

constexpr const char* kSender = "ISLD";
constexpr Offered kOffered[] = {
    {"TW40", fix::ApplicationVersion::fix40},
    {"TW41", fix::ApplicationVersion::fix41},
    {"TW42", fix::ApplicationVersion::fix42},
    {"TW43", fix::ApplicationVersion::fix43},
    {"TW44", fix::ApplicationVersion::fix44},
    {"TW50", fix::ApplicationVersion::fix50},
    {"TW50SP1", fix::ApplicationVersion::fix50sp1},
    {"TW50SP2", fix::ApplicationVersion::fix50sp2},
    {"TW", fix::ApplicationVersion::fix44},
    {"TW", fix::ApplicationVersion::latest, true, false},
    {"NO_CHECK_FIELDS_HAVE_VALUES", fix::ApplicationVersion::fix44, false},
};

void offer_sessions(fixd::EngineConfig& config) {
    const std::vector<fixd::FurtherVersion> besides_latest{{fix::ApplicationVersion::fix44},
                                                           {fix::ApplicationVersion::fix50sp2}};
    // QuickFIX has no dictionary of FIX Latest.
    const bool has_latest = std::filesystem::exists(config.dictionaries + "/FIXLatest.xml");
    for (const auto& offered : kOffered) {
        if (offered.version == fix::ApplicationVersion::latest && !has_latest) continue;
        auto& session = config.sessions.emplace_back();
        fixd::set_version(session.config, offered.version);
        if (offered.version == fix::ApplicationVersion::latest) session.further_versions = besides_latest;
        session.config.sender_comp_id = kSender;
        session.config.target_comp_id = offered.target;
        session.config.validation.fields_have_values = offered.fields_have_values;
        session.config.reset_on_logon = true;
        session.config.appl_ver_id_in_business_reject = offered.appl_ver_id_in_business_reject;
    }
}

fixd::EngineConfig config_of(const FixAcceptorOptions& options) {
    settings::Errors errors;
    auto config = options.flags.read(errors);
    if (config.sessions.empty()) errors.throw_if_any();
    if (options.echo && options.fill) throw UsageError{"fix acceptor: either --echo or --fill"};
    if (options.echo && config.sessions.empty()) {
        if (config.dictionaries.empty()) throw UsageError{"fix acceptor: --echo needs --dictionaries"};
        offer_sessions(config);
    }
    if (config.sessions.empty()) {
        throw UsageError{"fix acceptor: no session: give --config with a [[session]], --session or --echo"};
    }
    if (!options.address.empty() || options.port) {
        if (config.acceptors.empty()) config.acceptors.emplace_back();
        auto& listen = config.acceptors.front().listen;
        listen = net::SocketAddress::parse(fmt::format(
            "{}:{}", options.address.empty() ? listen.host() : options.address, options.port.value_or(listen.port())));
    }
    // --echo exists for QuickFIX's acceptance scripts.
    if (options.echo) {
        for (auto& session : config.sessions) session.config.quickfix_replies = true;
    }
    errors.check([&] { complete(config); });
    errors.throw_if_any();
    return config;
}

int run(const FixAcceptorOptions& options) {
    const auto config = config_of(options);
    service::Log log{config.log_level, config.log_format};
    fixd::FixEngine engine{config,
                           [&](const fixd::SessionSettings& session,
                               const fix::Dictionary* dictionary) -> std::unique_ptr<engine::Application> {
                               if (options.echo) {
                                   if (dictionary == nullptr)
                                       throw UsageError{"fix acceptor: --echo needs dictionaries"};
                                   return std::make_unique<EchoApplication>(*dictionary);
                               }
                               if (options.fill) return std::make_unique<fixd::FillApplication>();
                               return std::make_unique<fixd::PrintApplication>(fixd::FixPrinter{
                                   fixd::FixPrinter::Form::one_line, dictionary, hidden_of(config, session)});
                           },
                           log};
    const ReadAgain read = options.flags.has_file() ? ReadAgain{[&] { return config_of(options); }} : ReadAgain{};
    run_engine(engine, log, read);
    return 0;
}

}  // namespace

Command fix_acceptor_command(Arguments& fix) {
    auto options = std::make_shared<FixAcceptorOptions>();
    auto* command = fix.add_subcommand("acceptor", "Accept FIX counterparties; print, echo or fill what they send.");
    options->flags.add_to(*command);
    command->add_flag("--echo", options->echo, "send orders, security definitions and emails back, for tests");
    command->add_flag("--fill", options->fill, "fill every order at its price, for tests");
    const auto listen = fixd::AcceptorConfig{}.listen;
    command->add_option("--address", options->address,
                        fmt::format("address of the first acceptor (default: {})", listen.host()));
    command
        ->add_option("--port", options->port, fmt::format("its port; 0 for any free port (default: {})", listen.port()))
        ->check(whole_number(0, UINT16_MAX));
    command->footer(
        "Without --echo and --fill it accepts and prints all messages.\n"
        "Examples:\n"
        "  millpond fix acceptor --echo --port 5001 --dictionaries spec\n"
        "  millpond fix acceptor --fill --session sender=VENUE,target=*,reset_on_logon=true\n"
        "  millpond fix acceptor --config /etc/millpond/fix.toml --admin /run/millpond/fix.sock --raw-log raw.log\n"
        "  millpond fix acceptor --port 5001 --session "
        "version=FIX.5.0SP2,sender=VENUE,target=DESK,start=08:00,end=17:00,"
        "days=mon-fri,timezone=Europe/Berlin,store=desk.store");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
