#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
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
    /// Refuses an empty value, which would otherwise count as missing.
    Option* nonempty();
    Option* needs(Option* other);
    Option* excludes(Option* other);
    /// Name of the value in the help.
    Option* type_name(const std::string& name);
    /// Shows the current value of the target as the default in the help.
    Option* capture_default_str();
    /// Allows several values after one occurrence of the option.
    Option* allow_extra_args(bool yes);
    /// Makes the value a list of KEY=VALUE. keys: the keys, each with the form of its value as in type_name; an empty
    /// form is true or false.
    Option* takes_pairs(std::vector<std::pair<std::string, std::string>> keys);
    /// Leaves the option out of the help, which has a topic for it, but not out of the manual page.
    Option* in_topic();
    /// Splits a value into several at this character.
    Option* delimiter(char separator);

    [[nodiscard]] bool is_positional() const;
    [[nodiscard]] bool takes_value() const;
    /// Name of an operand; all names of an option, with their dashes.
    [[nodiscard]] std::string names() const;
    /// Name without the dashes.
    [[nodiscard]] std::vector<std::string> long_names() const;
    [[nodiscard]] std::string type() const;
    [[nodiscard]] std::string help() const;
    [[nodiscard]] std::string default_text() const;
    /// Keys set by takes_pairs.
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
    /// Used by add_subcommand for a subcommand's arguments.
    Arguments(const Arguments& parent, CLI::App* parser);
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;
    ~Arguments() = default;

    Arguments* add_subcommand(const std::string& name, const std::string& help);
    void require_subcommand(std::size_t count);
    /// Sets the text at the end of the help, such as examples.
    void footer(const std::string& text);
    /// Adds a topic, which the help lists and `--help NAME` prints. name: one word or more. text: without the heading.
    void add_topic(const std::string& name, const std::string& summary, const std::function<std::string()>& text);
    /// Adds -V and --version, which print `text`.
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
    /// Calls `given` while parsing with the value of an option.
    Option* add_option(const std::string& name, const std::function<void(const std::string&)>& given,
                       const std::string& help);

    /// Notes an option of an earlier version, which is no longer one. value: what it is fixed to.
    void add_removed(const std::string& name, const std::string& value);

    /// Parses the command line. Returns false after printing the text of --help or --version. Throws ParseError.
    /// Replaces underscores in flag names, as in keys of a file, by hyphens in `argv`.
    [[nodiscard]] bool parse(int argc, char** argv);
    /// Whether the command line named this subcommand.
    [[nodiscard]] bool parsed() const;

    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string help() const;
    [[nodiscard]] std::string footer() const;
    /// Returns the text of --help, wrapped. parents: words before the command's name.
    [[nodiscard]] std::string help_page(const std::string& parents) const;
    /// The parent command; null for the program.
    [[nodiscard]] const Arguments* parent() const noexcept { return parent_; }
    [[nodiscard]] const std::list<Arguments>& subcommands() const noexcept { return subcommands_; }
    [[nodiscard]] std::vector<Option> options() const;
    /// Finds an option by its name with dashes.
    [[nodiscard]] std::optional<Option> find_option(const std::string& name) const;
    /// The value that a removed option is fixed to; empty if there is none of that name.
    [[nodiscard]] std::string removed_value(std::string_view name) const;

private:
    struct Topic {
        std::string name;
        std::string summary;
        std::function<std::string()> text;
    };
    /// The text of `COMMAND --help TOPIC`; nullopt if the command line is another one. Throws std::invalid_argument for
    /// an unknown topic.
    [[nodiscard]] std::optional<std::string> topic_page(std::span<char* const> words) const;
    [[nodiscard]] std::string full_page() const;
    [[nodiscard]] std::string path() const;
    void set_footer();

    template <class Target>
    Option* add(const std::string& name, Target& target, const std::string& help);
    Option* keep(CLI::Option* option);

    const Arguments* parent_{nullptr};
    std::shared_ptr<CLI::App> parser_;  // a subcommand's parser shares ownership of the program's
    std::list<Option> options_;
    std::list<Arguments> subcommands_;
    std::vector<Topic> topics_;
    std::string footer_;
    std::vector<std::pair<std::string, std::string>> removed_;  // options with the values that they are fixed to
};

}  // namespace millpond::app
