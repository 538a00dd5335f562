#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/engine/acceptor.hpp>
#include <millpond/fix/dictionary_xml.hpp>

#include "apps/millpond/fix_commands.hpp"
#include "apps/millpond/fix_echo.hpp"
#include "apps/millpond/stop_signal.hpp"

namespace millpond::app {
namespace {

struct Options {
    bool echo{false};
    std::string address{"127.0.0.1"};
    std::uint16_t port{0};
    std::string dictionaries;
};

/// A session that the echo offers: what QuickFIX's acceptance scripts expect to find.
struct Offered {
    const char* target;
    fix::Version version;
    const char* session_dictionary;
    const char* application_dictionary;
    const char* appl_ver_id;
    bool fields_have_values;
};

constexpr const char* kSender = "ISLD";
constexpr Offered kOffered[] = {
    {"TW40", fix::Version::fix40, "FIX40", "FIX40", "", true},
    {"TW41", fix::Version::fix41, "FIX41", "FIX41", "", true},
    {"TW42", fix::Version::fix42, "FIX42", "FIX42", "", true},
    {"TW43", fix::Version::fix43, "FIX43", "FIX43", "", true},
    {"TW44", fix::Version::fix44, "FIX44", "FIX44", "", true},
    {"TW50", fix::Version::fixt11, "FIXT11", "FIX50", "7", true},
    {"TW50SP1", fix::Version::fixt11, "FIXT11", "FIX50SP1", "8", true},
    {"TW50SP2", fix::Version::fixt11, "FIXT11", "FIX50SP2", "9", true},
    {"TW", fix::Version::fix44, "FIX44", "FIX44", "", true},
    {"NO_CHECK_FIELDS_HAVE_VALUES", fix::Version::fix44, "FIX44", "FIX44", "", false},
};

class Dictionaries {
public:
    explicit Dictionaries(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Read once, then kept.
    const fix::Dictionary& get(const std::string& name) {
        const auto known = read_.find(name);
        if (known != read_.end()) return known->second;
        const auto path = folder_ / (name + ".xml");
        std::ifstream file{path};
        if (!file) throw std::runtime_error("cannot read " + path.string());
        const std::string xml{std::istreambuf_iterator<char>{file}, {}};
        try {
            return read_.emplace(name, fix::read_dictionary(xml)).first->second;
        } catch (const fix::DictionaryError& error) {
            throw std::runtime_error(path.string() + ": " + error.what());
        }
    }

private:
    std::filesystem::path folder_;
    std::map<std::string, fix::Dictionary> read_;
};

int run(const Options& options) {
    if (!options.echo) throw UsageError{"fix acceptor: --echo is the only application that it has"};
    if (options.dictionaries.empty()) throw UsageError{"fix acceptor: --echo needs --dictionaries"};
    Dictionaries dictionaries{options.dictionaries};
    std::vector<std::unique_ptr<EchoApplication>> applications;
    engine::IoThread io;
    engine::Acceptor acceptor{io, {.address = options.address, .port = options.port}};
    for (const auto& offered : kOffered) {
        const auto& application = dictionaries.get(offered.application_dictionary);
        applications.push_back(std::make_unique<EchoApplication>(application));
        fix::SessionConfig config{.version = offered.version,
                                  .sender_comp_id = kSender,
                                  .target_comp_id = offered.target,
                                  .default_appl_ver_id = offered.appl_ver_id,
                                  .reset_on_logon = true,
                                  .appl_ver_id_in_business_reject = true};
        config.validation.fields_have_values = offered.fields_have_values;
        acceptor.add({.config = config,
                      .dictionary = &dictionaries.get(offered.session_dictionary),
                      .application = &application},
                     *applications.back());
    }
    const auto& stop = stop_on_signal();
    fmt::print("listening on {}:{}\n", options.address, acceptor.port());
    std::fflush(stdout);
    while (!stop.load(std::memory_order_relaxed)) io.poll(std::chrono::milliseconds{200});
    return io.drain(std::chrono::seconds{5}) ? 0 : 1;
}

}  // namespace

Command fix_acceptor_command(CLI::App& fix) {
    auto options = std::make_shared<Options>();
    auto* command = fix.add_subcommand("acceptor", "lets FIX counterparties in");
    command->add_flag("--echo", options->echo, "send orders, security definitions and emails back, for tests");
    command->add_option("--address", options->address, "where to listen")->capture_default_str();
    command->add_option("--port", options->port, "where to listen; 0: any free port")->capture_default_str();
    command->add_option("--dictionaries", options->dictionaries,
                        "folder with FIX40.xml to FIX50SP2.xml and FIXT11.xml");
    command->footer("Example: millpond fix acceptor --echo --port 5001 --dictionaries spec");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
