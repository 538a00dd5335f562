#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <millpond/core/created_file.hpp>
#include <millpond/core/whole_file.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/doctor/report.hpp"
#include "apps/millpond/gateway/config_check.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/schema.hpp"

namespace millpond::app {
namespace {

struct InitOptions {
    std::string file{"gateway.toml"};
    std::string format;
    std::vector<std::string> sinks{"tcp", "web"};
};

/// The lines of a key: its help, then `key = value`, commented out unless it must be set.
std::string lines_of(const settings::KeyText& key) {
    const std::string value = key.shape.empty() ? "false" : key.toml.empty() ? key.shape : key.toml;
    return fmt::format("\n# {}\n{}{} = {}\n", key.help, key.is_required ? "" : "#", key.name, value);
}

std::string table_of(std::string_view section, std::string_view summary, const std::vector<settings::KeyText>& keys) {
    auto text = fmt::format("\n\n# {}\n[[{}]]\n", summary, section);
    for (const auto& key : keys) text += lines_of(key);
    return text;
}

/// The keys of a feed with this format, which is set.
std::vector<settings::KeyText> feed_keys(const gateway::FeedFormat& format) {
    const auto* const only = &format;
    auto keys = gateway::feed_keys({&only, 1});
    auto& key = *std::ranges::find(keys, gateway::kFormatKey, &settings::KeyText::name);
    key.toml = fmt::format("\"{}\"", format.name());
    key.is_required = true;
    return keys;
}

const gateway::FeedFormat& format_named(const std::string& name) {
    std::string known;
    for (const auto* one : gateway::builtin_feed_formats()) {
        if (one->name() == name) return *one;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", one->name());
    }
    throw UsageError(fmt::format("init: no format '{}'; known are: {}", name, known));
}

/// The kinds of the named sinks in the order of all kinds, with those that they follow.
std::vector<const gateway::SinkKind*> kinds_named(std::vector<std::string> names) {
    for (const auto* one : gateway::builtin_sink_kinds()) {
        const bool is_named = std::ranges::find(names, one->name()) != names.end();
        if (is_named && !one->followed_kind().empty()) names.emplace_back(one->followed_kind());
    }
    std::vector<const gateway::SinkKind*> kinds;
    std::string known;
    for (const auto* one : gateway::builtin_sink_kinds()) {
        if (std::erase(names, one->name()) != 0) kinds.push_back(one);
        known += fmt::format("{}{}", known.empty() ? "" : ", ", one->name());
    }
    if (!names.empty()) throw UsageError(fmt::format("init: no sink '{}'; known are: {}", names.front(), known));
    return kinds;
}

std::string text_of(const InitOptions& options) {
    const auto& format = format_named(options.format);
    const auto kinds = kinds_named(options.sinks);
    auto text = fmt::format(
        "# Configuration of `millpond gateway`, made by `millpond init`. Keys after # are not set: the value is the\n"
        "# default, or the form of a value where there is no default. Relative paths start at the gateway's working "
        "directory.\n"
        "# After a change: millpond config check FILE\n");
    for (const auto& key : settings::texts_of(settings::Schema<gateway::Config>::keys())) {
        text += lines_of(key);
    }
    text += table_of("ring", "A ring in shared memory, with its receive thread.",
                     settings::texts_of(settings::Schema<gateway::RingConfig>::keys()));
    text += table_of(gateway::kFeedSection, "A feed. Set `listen` to its address and `interface` to the card it is on.",
                     feed_keys(format));
    for (const auto* kind : kinds) {
        std::string summary{kind->summary()};
        summary.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(summary.front())));
        text += table_of(kind->name(), summary + ".", kind->keys());
    }
    return text;
}

/// Throws std::system_error, also for a file that exists.
void write_new(const std::string& path, std::string_view text) {
    if (std::filesystem::exists(path)) throw std::system_error(EEXIST, std::generic_category(), path);
    core::WholeFile file{path, core::kFileMode};
    file.write(text);
    file.commit();
}

int run(const InitOptions& options) {
    write_new(options.file, text_of(options));
    fmt::print("{}", check_config(options.file, {}));
    gateway::Config config;
    gateway::read_file(options.file, config);
    gateway::complete(config);
    fmt::print("{}", doctor::to_text(doctor::check_machine_for(config)));
    fmt::print("next: set the feed's address in {0}, then run `millpond gateway --config {0}`\n", options.file);
    return 0;
}

}  // namespace

Command init_command(Arguments& program) {
    auto* command =
        program.add_subcommand("init", "Write a commented configuration of a gateway, then check it and this machine.");
    command->footer(
        "Findings of this machine, as `millpond doctor` prints them, do not change the exit code.\n"
        "Examples:\n"
        "  millpond init --format itch\n"
        "  millpond init --format quotes --sinks tcp,csv,kafka my.toml");
    auto options = std::make_shared<InitOptions>();
    std::vector<std::string_view> formats;
    for (const auto* one : gateway::builtin_feed_formats()) formats.push_back(one->name());
    command->add_option("--format", options->format, "format of the feed")
        ->required()
        ->type_name(fmt::format("{}", fmt::join(formats, "|")));
    std::vector<std::string_view> kinds;
    for (const auto* one : gateway::builtin_sink_kinds()) kinds.push_back(one->name());
    command->add_option("--sinks", options->sinks, fmt::format("sinks, of {}", fmt::join(kinds, ", ")))
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("KIND,...")
        ->capture_default_str();
    command->add_option("FILE", options->file, "file to write, which must not exist")->capture_default_str();
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
