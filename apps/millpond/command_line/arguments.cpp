#include "apps/millpond/command_line/arguments.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace millpond::app {
namespace {

/// Whether the parser found a word instead of the name of a command.
bool names_no_command(const CLI::App& program) {
    const auto* at = &program;
    for (auto parsed = at->get_subcommands(); !parsed.empty(); parsed = at->get_subcommands()) at = parsed.front();
    if (at->get_subcommands([](const CLI::App*) { return true; }).empty()) return false;
    return std::ranges::any_of(at->remaining(), [](const std::string& word) { return !word.starts_with('-'); });
}

/// The error in the words of this program.
std::string in_words(const CLI::App& program, const CLI::ParseError& error) {
    std::string text{error.what()};
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
    const auto name = text.substr(0, text.find(':'));
    if (text.find(": At Most 1 ") != std::string::npos) return name + ": given more than once";
    if (!text.ends_with(" missing")) return text;
    const auto* at = &program;
    for (auto parsed = at->get_subcommands(); !parsed.empty(); parsed = at->get_subcommands()) at = parsed.front();
    const auto* option = at->get_option_no_throw(name);
    return name + ": needs a value" + (option == nullptr ? "" : ", " + option->get_type_name());
}

void hyphenate_flags(std::span<char* const> words) {
    for (auto* const word : words) {
        const std::span text{word, std::strlen(word)};
        const std::string_view view{text.data(), text.size()};
        if (view == "--") return;
        if (view.starts_with("--")) std::replace(text.begin(), std::ranges::find(text, '='), '_', '-');
    }
}

}  // namespace

Option* Option::required(bool yes) {
    parsed_->required(yes);
    return this;
}

Option* Option::check(const Check& check) {
    parsed_->check(CLI::Validator{[check](std::string& text) { return check(text); }, ""});
    return this;
}

Option* Option::needs(Option* other) {
    parsed_->needs(other->parsed_);
    return this;
}

Option* Option::excludes(Option* other) {
    parsed_->excludes(other->parsed_);
    return this;
}

Option* Option::type_name(const std::string& name) {
    parsed_->type_name(name);
    return this;
}

Option* Option::capture_default_str() {
    parsed_->capture_default_str();
    return this;
}

Option* Option::allow_extra_args(bool yes) {
    parsed_->allow_extra_args(yes);
    return this;
}

Option* Option::takes_pairs(std::vector<std::pair<std::string, std::string>> keys) {
    pairs_ = std::move(keys);
    return this;
}

Option* Option::delimiter(char separator) {
    parsed_->delimiter(separator);
    return this;
}

bool Option::is_positional() const { return parsed_->get_positional(); }
bool Option::takes_value() const { return parsed_->get_items_expected_max() > 0; }
std::string Option::names() const { return is_positional() ? parsed_->get_name(true) : parsed_->get_name(false, true); }
std::vector<std::string> Option::long_names() const { return parsed_->get_lnames(); }
std::string Option::type() const { return parsed_->get_type_name(); }
std::string Option::help() const { return parsed_->get_description(); }
std::string Option::default_text() const { return parsed_->get_default_str(); }

Arguments::Arguments(const std::string& name, const std::string& help)
    : parser_(std::make_shared<CLI::App>(help, name)) {}

Arguments::Arguments(const Arguments& parent, CLI::App* parser) : parent_(&parent), parser_(parent.parser_, parser) {}

Arguments* Arguments::add_subcommand(const std::string& name, const std::string& help) {
    return &subcommands_.emplace_back(*this, parser_->add_subcommand(name, help));
}

void Arguments::require_subcommand(std::size_t count) { parser_->require_subcommand(static_cast<int>(count)); }
void Arguments::footer(const std::string& text) { parser_->footer(text); }

void Arguments::version(const std::string& text) {
    parser_->set_version_flag("--version", text, "print version and commit");
}

Option* Arguments::keep(CLI::Option* option) { return &options_.emplace_back(option); }

template <class Target>
Option* Arguments::add(const std::string& name, Target& target, const std::string& help) {
    return keep(parser_->add_option(name, target, help));
}

Option* Arguments::add_flag(const std::string& name, bool& target, const std::string& help) {
    return keep(parser_->add_flag(name, target, help));
}

Option* Arguments::add_flag(const std::string& name, const std::function<void()>& given, const std::string& help) {
    return keep(parser_->add_flag_callback(name, given, help));
}

Option* Arguments::add_option(const std::string& name, std::string& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, int& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, double& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, std::uint16_t& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, std::uint32_t& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, std::uint64_t& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, std::optional<std::uint16_t>& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, std::optional<std::uint64_t>& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, std::vector<std::string>& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name, std::vector<std::uint32_t>& target, const std::string& help) {
    return add(name, target, help);
}

Option* Arguments::add_option(const std::string& name,
                              const std::function<void(const std::vector<std::string>&)>& given,
                              const std::string& help) {
    return keep(parser_->add_option_function<std::vector<std::string>>(name, given, help));
}

Option* Arguments::add_option(const std::string& name, const std::function<void(const std::string&)>& given,
                              const std::string& help) {
    return keep(parser_->add_option_function<std::string>(name, given, help));
}

bool Arguments::parse(int argc, char** argv) {
    hyphenate_flags({argv, static_cast<std::size_t>(argc)});
    try {
        parser_->parse(argc, argv);
        return true;
    } catch (const CLI::ParseError& outcome) {
        if (outcome.get_exit_code() != 0 || names_no_command(*parser_)) throw ParseError{in_words(*parser_, outcome)};
        static_cast<void>(parser_->exit(outcome));  // prints
        return false;
    }
}

bool Arguments::parsed() const { return parser_->parsed(); }
std::string Arguments::name() const { return parser_->get_name(); }
std::string Arguments::help() const { return parser_->get_description(); }
std::string Arguments::footer() const { return parser_->get_footer(); }
std::string Arguments::help_page(const std::string& parents) const { return parser_->help(parents); }

std::vector<Option> Arguments::options() const {
    std::vector<Option> found;
    for (auto* option : parser_->get_options()) {
        const auto kept = std::ranges::find_if(options_, [&](const Option& one) { return one.is(option); });
        found.push_back(kept != options_.end() ? *kept : Option{option});
    }
    return found;
}

std::optional<Option> Arguments::find_option(const std::string& name) const {
    auto* found = parser_->get_option_no_throw(name);
    return found == nullptr ? std::nullopt : std::optional{Option{found}};
}

}  // namespace millpond::app
