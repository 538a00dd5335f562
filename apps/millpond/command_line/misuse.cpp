#include "apps/millpond/command_line/misuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/settings/nearest.hpp"

namespace millpond::app {
namespace {

const Arguments* subcommand(const Arguments& of, std::string_view name) {
    const auto found = std::ranges::find_if(of.subcommands(), [&](const Arguments& one) { return one.name() == name; });
    return found == of.subcommands().end() ? nullptr : &*found;
}

std::string guess(std::string_view word, std::span<const std::string_view> known) {
    const auto hint = settings::did_you_mean(word, known);
    return hint.empty() ? hint : "; " + hint;
}

std::string unknown_command(const Arguments& of, std::string_view name) {
    std::vector<std::string> names;
    for (const auto& one : of.subcommands()) names.push_back(one.name());
    const std::vector<std::string_view> known{names.begin(), names.end()};
    const auto hint = guess(name, known);
    return fmt::format("unknown command '{}'{}", name,
                       hint.empty() ? fmt::format("; known are: {}", fmt::join(known, ", ")) : hint);
}

std::string unknown_option(const Arguments& of, std::string_view name) {
    if (const auto value = of.removed_value(name); !value.empty()) {
        return fmt::format("option '{}' was removed; it is fixed to: {}", name, value);
    }
    std::vector<std::string> names;
    for (const auto& one : of.options()) {
        for (const auto& word : one.long_names()) names.push_back("--" + word);
    }
    const std::vector<std::string_view> known{names.begin(), names.end()};
    return fmt::format("unknown option '{}'{}", name, guess(name, known));
}

/// Error message for an unexpected operand. after_command: whether it directly follows the command's name.
std::string unexpected_operand(const Arguments& of, std::string_view word, bool after_command) {
    std::string hint;
    for (const auto& one : of.options()) {
        if (!after_command || !one.takes_value() || one.long_names().empty()) continue;
        hint = fmt::format("; did you mean '--{} {}'?", one.long_names().front(), word);
        break;
    }
    return fmt::format("unexpected argument '{}'{}", word, hint);
}

}  // namespace

const Arguments& chosen(const Arguments& program, std::span<char* const> arguments) {
    const auto* at = &program;
    for (const std::string_view word : arguments) {
        const auto* next = subcommand(*at, word);
        if (next == nullptr) break;
        at = next;
    }
    return *at;
}

std::string misuse(const Arguments& program, std::span<char* const> arguments, const ParseError& error) {
    const auto* at = &program;
    std::size_t of_command = 0;  // index of the first argument after the command's name
    std::ptrdiff_t operands = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view word{arguments[i]};
        if (word == "--") break;
        if (word.starts_with('-') && word.size() > 1) {
            const std::string name{word.substr(0, word.find('='))};
            const auto known = at->find_option(name);
            if (!known && word.starts_with("--")) return unknown_option(*at, name);
            const bool value_follows = known && known->takes_value() && name == word;
            if (value_follows) ++i;
        } else if (const auto* next = subcommand(*at, word); next != nullptr) {
            at = next;
            of_command = i + 1;
        } else if (!at->subcommands().empty()) {
            return unknown_command(*at, word);
        } else {
            const auto all = at->options();
            const auto expected = std::ranges::count_if(all, [](const Option& one) { return one.is_positional(); });
            if (++operands > expected) return unexpected_operand(*at, word, i == of_command);
        }
    }
    return error.what();
}

}  // namespace millpond::app
