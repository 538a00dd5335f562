#pragma once

#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/millpond/command_line/arguments.hpp"
#include "service/settings/schema.hpp"

/// Command-line flags for the keys of a configuration.
namespace millpond::app {

/// The given flags: names of keys or tables, with their text.
using WrittenFlags = std::shared_ptr<std::vector<std::pair<std::string, std::string>>>;

/// A flag for each key of the top level.
template <class Section>
void add_key_flags(Arguments& options, const WrittenFlags& written) {
    for (const auto& key : settings::Schema<Section>::keys()) {
        std::string name{key.name};
        const auto flag = settings::flag_of(name);
        if (key.shape.empty()) {
            options.add_flag(flag, [name, written] { written->emplace_back(name, "true"); }, std::string{key.help});
        } else {
            options
                .add_option(
                    flag, [name, written](const std::string& text) { written->emplace_back(name, text); },
                    settings::help_with_default(key))
                ->type_name(std::string{key.shape});
        }
    }
}

/// A flag for a table: `--feed listen=127.0.0.1:9000,format=bbo28`. Its help lists the keys.
inline void add_table_flag(Arguments& options, const WrittenFlags& written, const std::string& name,
                           const std::string& help, const std::vector<settings::KeyText>& keys) {
    auto text = help + "; keys:";
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& key : keys) {
        text += fmt::format("\n  {:<16} {}: {}", key.name, key.shape, key.help);
        pairs.emplace_back(key.name, key.shape);
    }
    const auto keep = [name, written](const std::vector<std::string>& tables) {
        for (const auto& one : tables) written->emplace_back(name, one);
    };
    options.add_option(settings::flag_of(name), keep, text)
        ->type_name("KEY=VALUE,...")
        ->takes_pairs(std::move(pairs))
        ->allow_extra_args(false);
}

template <class Section>
void add_table_flag(Arguments& options, const WrittenFlags& written, const std::string& help) {
    add_table_flag(options, written, std::string{settings::Schema<Section>::name()}, help,
                   settings::texts_of(settings::Schema<Section>::keys()));
}

}  // namespace millpond::app
