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

/// Flags of the command line: names of keys or tables with their texts.
using WrittenFlags = std::shared_ptr<std::vector<std::pair<std::string, std::string>>>;

/// The keys of a table as a topic of the help.
[[nodiscard]] inline std::string topic_text(const std::vector<settings::KeyText>& keys) {
    std::string text;
    for (const auto& key : keys)
        text += fmt::format("  {} = {}\n      {}\n", key.name, key.shape.empty() ? "true|false" : key.shape,
                            settings::help_with_default(key));
    return text;
}

/// Adds a flag for each key of the top level, and a topic for them; the flag of a removed key is refused.
template <class Section>
void add_key_flags(Arguments& options, const WrittenFlags& written) {
    for (const auto& key : settings::Schema<Section>::keys()) {
        std::string name{key.name};
        const auto flag = settings::flag_of(name);
        if (key.is_removed()) {
            options.add_removed(flag, std::string{key.help});
        } else if (key.shape.empty()) {
            options.add_flag(
                       flag, [name, written] { written->emplace_back(name, "true"); }, std::string{key.help})
                ->in_topic();
        } else {
            options
                .add_option(
                    flag, [name, written](const std::string& text) { written->emplace_back(name, text); },
                    settings::help_with_default(settings::text_of(key)))
                ->type_name(std::string{key.shape})
                ->in_topic();
        }
    }
    options.add_topic("keys", "keys of the top level, each also a flag: log_level is --log-level",
                      [] { return topic_text(settings::texts_of(settings::Schema<Section>::keys())); });
}

/// Adds a flag for a table, such as `--feed listen=127.0.0.1:9000,format=bbo28`, and a topic with its keys.
/// family: word before the table's name in the topic's name, such as "sink"; empty: none.
inline void add_table_flag(Arguments& options, const WrittenFlags& written, const std::string& name,
                           const std::string& help, const std::vector<settings::KeyText>& keys,
                           const std::string& family = {}) {
    auto text = help + "; keys:";
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& key : keys) {
        text += fmt::format("\n  {:<16} {}: {}", key.name, key.shape, settings::help_with_default(key));
        pairs.emplace_back(key.name, key.shape);
    }
    const auto keep = [name, written](const std::vector<std::string>& tables) {
        for (const auto& one : tables) written->emplace_back(name, one);
    };
    options.add_option(settings::flag_of(name), keep, text)
        ->type_name("KEY=VALUE,...")
        ->takes_pairs(std::move(pairs))
        ->allow_extra_args(false)
        ->in_topic();
    const auto title = help.ends_with(" [" + name + "]") ? settings::table_title(name) : settings::section_title(name);
    options.add_topic((family.empty() ? "" : family + " ") + name, help, [name, title, keys] {
        return fmt::format("Keys of {} in the file, and of {} KEY=VALUE,...:\n", title, settings::flag_of(name)) +
               topic_text(keys);
    });
}

template <class Section>
void add_table_flag(Arguments& options, const WrittenFlags& written, const std::string& help) {
    add_table_flag(options, written, std::string{settings::Schema<Section>::name()}, help,
                   settings::texts_of(settings::Schema<Section>::keys()));
}

}  // namespace millpond::app
