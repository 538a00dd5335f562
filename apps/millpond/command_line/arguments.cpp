#include "apps/millpond/command_line/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "apps/millpond/command_line/help_text.hpp"
#include "service/settings/nearest.hpp"

namespace millpond::app {
namespace {

/// Whether the command line has a word that is not a command in place of a command.
bool names_no_command(const CLI::App& program) {
    const auto* at = &program;
    for (auto parsed = at->get_subcommands(); !parsed.empty(); parsed = at->get_subcommands()) at = parsed.front();
    if (at->get_subcommands([](const CLI::App*) { return true; }).empty()) return false;
    return std::ranges::any_of(at->remaining(), [](const std::string& word) { return !word.starts_with('-'); });
}

/// Formats the parser's error as a message of this program.
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

/// Options of topics, which the help leaves out.
constexpr const char* kTopicGroup = "Topics";

class HelpFormatter final : public CLI::Formatter {
public:
    std::string make_group(std::string group, bool is_positional,
                           std::vector<const CLI::Option*> options) const override {
        if (group == kTopicGroup) return {};
        return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
    }
};

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

Option* Option::in_topic() {
    parsed_->group(kTopicGroup);
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
    : parser_(std::make_shared<CLI::App>(help, name)) {
    parser_->formatter(std::make_shared<HelpFormatter>());
}

Arguments::Arguments(const Arguments& parent, CLI::App* parser) : parent_(&parent), parser_(parent.parser_, parser) {}

Arguments* Arguments::add_subcommand(const std::string& name, const std::string& help) {
    return &subcommands_.emplace_back(*this, parser_->add_subcommand(name, help));
}

void Arguments::require_subcommand(std::size_t count) { parser_->require_subcommand(static_cast<int>(count)); }

void Arguments::footer(const std::string& text) {
    footer_ = text;
    set_footer();
}

void Arguments::add_topic(const std::string& name, const std::string& summary,
                          const std::function<std::string()>& text) {
    topics_.push_back({name, summary, text});
    set_footer();
}

/// The parser's footer lists the topics before the command's own.
void Arguments::set_footer() {
    std::string text;
    if (!topics_.empty()) {
        text = "Topics of --help TOPIC:\n";
        for (const auto& topic : topics_)
            text += fmt::format("  {:<{}}{}\n", topic.name, kDescriptionColumn - 2, topic.summary);
        text += fmt::format("  {:<{}}everything above, in one page\n", "all", kDescriptionColumn - 2);
        if (!footer_.empty()) text += '\n';
    }
    parser_->footer(text + footer_);
}

std::string Arguments::path() const { return parent_ == nullptr ? name() : parent_->path() + " " + name(); }

std::string Arguments::full_page() const {
    auto page = fmt::format("{}\nUsage: {} [OPTIONS]\n\nOptions:\n", help(), path());
    for (const auto& option : options()) {
        auto line = "  " + option.names();
        if (option.takes_value()) line += " " + option.type();
        if (option.takes_value() && !option.default_text().empty()) line += "=" + option.default_text();
        if (!option.pairs().empty()) line += " ...";
        auto help = option.help();
        for (auto at = help.find('\n'); at != std::string::npos; at = help.find('\n', at + 1))
            help.insert(at + 1, kDescriptionColumn, ' ');
        const auto column = line.size() + 1 < kDescriptionColumn ? kDescriptionColumn - line.size() : 0;
        page += column != 0 ? fmt::format("{}{}{}\n", line, std::string(column, ' '), help)
                            : fmt::format("{}\n{}{}\n", line, std::string(kDescriptionColumn, ' '), help);
    }
    return page + (footer_.empty() ? "" : "\n" + footer_ + "\n");
}

std::optional<std::string> Arguments::topic_page(std::span<char* const> words) const {
    const auto* at = this;
    std::size_t i = 1;
    for (; i < words.size(); ++i) {
        const auto found = std::ranges::find(at->subcommands_, std::string{words[i]}, &Arguments::name);
        if (found == at->subcommands_.end()) break;
        at = &*found;
    }
    const std::string_view flag = i < words.size() ? words[i] : "";
    if ((flag != "--help" && flag != "-h") || i + 1 >= words.size()) return std::nullopt;
    const auto wanted = fmt::format("{}", fmt::join(words.subspan(i + 1), " "));
    if (wanted == "all")
        return at->topics_.empty() ? at->help_page(at->parent_ == nullptr ? "" : at->parent_->path())
                                   : wrapped(at->full_page());
    if (at->topics_.empty()) return std::nullopt;
    std::vector<std::string_view> names;
    for (const auto& topic : at->topics_) {
        const std::string_view last = std::string_view{topic.name}.substr(topic.name.rfind(' ') + 1);
        if (topic.name == wanted || last == wanted) return wrapped(topic.summary + "\n\n" + topic.text());
        names.push_back(topic.name);
        if (last != topic.name) names.push_back(last);
    }
    const auto hint = settings::did_you_mean(wanted, names);
    throw std::invalid_argument(
        fmt::format("{}: --help: no topic '{}'{}", at->path(), wanted, hint.empty() ? "" : "; " + hint));
}

void Arguments::version(const std::string& text) {
    parser_->set_version_flag("-V,--version", text, "print version and commit");
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

void Arguments::add_removed(const std::string& name, const std::string& value) { removed_.emplace_back(name, value); }

std::string Arguments::removed_value(std::string_view name) const {
    const auto found = std::ranges::find(removed_, name, [](const auto& one) -> std::string_view { return one.first; });
    return found == removed_.end() ? std::string{} : found->second;
}

bool Arguments::parse(int argc, char** argv) {
    const std::span words{argv, static_cast<std::size_t>(argc)};
    hyphenate_flags(words);
    if (const auto page = topic_page(words)) {
        fmt::print("{}", *page);
        return false;
    }
    try {
        parser_->parse(argc, argv);
        return true;
    } catch (const CLI::ParseError& outcome) {
        if (outcome.get_exit_code() != 0 || names_no_command(*parser_)) throw ParseError{in_words(*parser_, outcome)};
        if (dynamic_cast<const CLI::CallForHelp*>(&outcome) != nullptr) {
            fmt::print("{}", wrapped(parser_->help()));
        } else {
            static_cast<void>(parser_->exit(outcome));  // prints
        }
        return false;
    }
}

bool Arguments::parsed() const { return parser_->parsed(); }
std::string Arguments::name() const { return parser_->get_name(); }
std::string Arguments::help() const { return parser_->get_description(); }
std::string Arguments::footer() const { return footer_; }
std::string Arguments::help_page(const std::string& parents) const { return wrapped(parser_->help(parents)); }

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
