#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
class Option;
}  // namespace CLI

/// Options and operands of commands. Only arguments.cpp includes the parser (CLI11), whose templates would otherwise be
/// compiled with every command.
namespace millpond::app {

/// Checks the text of a value. Returns the error; empty if valid.
using Check = std::function<std::string(const std::string& text)>;

/// A flag (--once), an option with a value (--ring NAME) or an operand (FILE).
class Option {
public:
    explicit Option(CLI::Option* parsed) noexcept : parsed_(parsed) {}

    Option* required(bool yes = true);
    Option* check(const Check& check);
    Option* one_of(std::initializer_list<std::string> words);
    /// Refuses an empty value, which would otherwise count as not given.
    Option* nonempty();
    Option* needs(Option* other);
    Option* excludes(Option* other);
    /// What the help shows for the value.
    Option* type_name(const std::string& name);
    /// Shows the current value of the target as the default in the help.
    Option* capture_default_str();
    /// Whether more than one value may follow a single mention of the option.
    Option* allow_extra_args(bool yes);
    /// The value is a list of KEY=VALUE. keys: each with what its value looks like, as in type_name; empty: true or
    /// false.
    Option* takes_pairs(std::vector<std::pair<std::string, std::string>> keys);
    /// Splits a value into several.
    Option* delimiter(char separator);

    [[nodiscard]] bool is_positional() const;
    [[nodiscard]] bool takes_value() const;
    /// Of an operand its name, of an option all its names, with their dashes.
    [[nodiscard]] std::string names() const;
    /// Without the dashes.
    [[nodiscard]] std::vector<std::string> long_names() const;
    [[nodiscard]] std::string type() const;
    [[nodiscard]] std::string help() const;
    [[nodiscard]] std::string default_text() const;
    /// Of takes_pairs.
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& pairs() const noexcept { return pairs_; }
    [[nodiscard]] bool is(const CLI::Option* parsed) const noexcept { return parsed_ == parsed; }

private:
    CLI::Option* parsed_;
    std::vector<std::pair<std::string, std::string>> pairs_;
};

/// The parser's error message.
class ParseError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The options, operands and subcommands of the program or of one of its commands. The targets of options must outlive
/// the call of parse(), which assigns them.
class Arguments {
public:
    Arguments(const std::string& name, const std::string& help);
    /// A subcommand's, for add_subcommand.
    Arguments(const Arguments& parent, CLI::App* parser);
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;
    ~Arguments() = default;

    Arguments* add_subcommand(const std::string& name, const std::string& help);
    void require_subcommand(std::size_t count);
    /// What the help prints at the end, such as examples.
    void footer(const std::string& text);
    /// Adds --version, which prints `text`.
    void version(const std::string& text);

    Option* add_flag(const std::string& name, bool& target, const std::string& help);
    /// Calls `given` while parsing if the flag is present.
    Option* add_flag(const std::string& name, const std::function<void()>& given, const std::string& help);

    Option* add_option(const std::string& name, std::string& target, const std::string& help);
    Option* add_option(const std::string& name, int& target, const std::string& help);
    Option* add_option(const std::string& name, double& target, const std::string& help);
    Option* add_option(const std::string& name, std::uint16_t& target, const std::string& help);
    Option* add_option(const std::string& name, std::uint32_t& target, const std::string& help);
    Option* add_option(const std::string& name, std::uint64_t& target, const std::string& help);
    Option* add_option(const std::string& name, std::optional<std::uint16_t>& target, const std::string& help);
    Option* add_option(const std::string& name, std::optional<std::uint64_t>& target, const std::string& help);
    Option* add_option(const std::string& name, std::vector<std::string>& target, const std::string& help);
    Option* add_option(const std::string& name, std::vector<std::uint32_t>& target, const std::string& help);
    /// Calls `given` while parsing with the option's values.
    Option* add_option(const std::string& name, const std::function<void(const std::vector<std::string>&)>& given,
                       const std::string& help);
    /// The same for an option with one value.
    Option* add_option(const std::string& name, const std::function<void(const std::string&)>& given,
                       const std::string& help);

    /// Returns false after --help or --version, whose text it prints. Throws ParseError. Underscores in names of flags,
    /// as keys of a file have them, become hyphens in `argv`.
    [[nodiscard]] bool parse(int argc, char** argv);
    /// Whether the command line named this subcommand.
    [[nodiscard]] bool parsed() const;

    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string help() const;
    [[nodiscard]] std::string footer() const;
    /// What --help prints. parents: the words before the command's name.
    [[nodiscard]] std::string help_page(const std::string& parents) const;
    /// Null for the program.
    [[nodiscard]] const Arguments* parent() const noexcept { return parent_; }
    [[nodiscard]] const std::list<Arguments>& subcommands() const noexcept { return subcommands_; }
    [[nodiscard]] std::vector<Option> options() const;
    /// name: with its dashes.
    [[nodiscard]] std::optional<Option> find_option(const std::string& name) const;

private:
    template <class Target>
    Option* add(const std::string& name, Target& target, const std::string& help);
    Option* keep(CLI::Option* option);

    const Arguments* parent_{nullptr};
    std::shared_ptr<CLI::App> parser_;  // a subcommand's shares the program's
    std::list<Option> options_;
    std::list<Arguments> subcommands_;
};

}  // namespace millpond::app
