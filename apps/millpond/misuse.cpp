#include "apps/millpond/misuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "service/settings/nearest.hpp"

namespace millpond::app {
namespace {

const CLI::App* subcommand(const CLI::App& of, std::string_view name) {
    const auto all = of.get_subcommands([](const CLI::App*) { return true; });
    const auto found = std::ranges::find_if(all, [&](const CLI::App* one) { return one->get_name() == name; });
    return found == all.end() ? nullptr : *found;
}

std::string guess(std::string_view word, std::span<const std::string_view> known) {
    const auto nearest = settings::nearest(word, known);
    return nearest.empty() ? std::string{} : fmt::format("; did you mean '{}'?", nearest);
}

std::string unknown_command(const CLI::App& of, std::string_view name) {
    const auto all = of.get_subcommands([](const CLI::App*) { return true; });
    std::vector<std::string> names;
    for (const auto* one : all) names.push_back(one->get_name());
    const std::vector<std::string_view> known{names.begin(), names.end()};
    const auto hint = guess(name, known);
    return fmt::format("unknown command '{}'{}", name,
                       hint.empty() ? fmt::format("; known are: {}", fmt::join(known, ", ")) : hint);
}

/// The option of that name, with its dashes; null where there is none.
const CLI::Option* option(const CLI::App& of, const std::string& name) { return of.get_option_no_throw(name); }

std::string unknown_option(const CLI::App& of, std::string_view name) {
    std::vector<std::string> names;
    for (const auto* one : of.get_options()) {
        for (const auto& word : one->get_lnames()) names.push_back("--" + word);
    }
    const std::vector<std::string_view> known{names.begin(), names.end()};
    return fmt::format("unknown option '{}'{}", name, guess(name, known));
}

}  // namespace

const CLI::App& chosen(const CLI::App& program, std::span<char* const> arguments) {
    const auto* at = &program;
    for (const std::string_view word : arguments) {
        const auto* next = subcommand(*at, word);
        if (next == nullptr) break;
        at = next;
    }
    return *at;
}

std::string misuse(const CLI::App& program, std::span<char* const> arguments, const CLI::ParseError& error) {
    const auto* at = &program;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view word{arguments[i]};
        if (word == "--") break;
        if (word.starts_with('-') && word.size() > 1) {
            const std::string name{word.substr(0, word.find('='))};
            const auto* known = option(*at, name);
            if (known == nullptr && word.starts_with("--")) return unknown_option(*at, name);
            const bool value_follows = known != nullptr && known->get_items_expected_max() > 0 && name == word;
            if (value_follows) ++i;
        } else if (const auto* next = subcommand(*at, word); next != nullptr) {
            at = next;
        } else if (!at->get_subcommands([](const CLI::App*) { return true; }).empty()) {
            return unknown_command(*at, word);
        }
    }
    return error.what();
}

}  // namespace millpond::app
