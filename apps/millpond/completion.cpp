#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/millpond/command.hpp"

namespace millpond::app {
namespace {

/// The words that an option takes, as its type names them ("spin|block", "TEXT:{table,json}"); empty when it takes
/// anything.
std::string words_of(const Option& option) {
    auto type = option.type();
    if (const auto open = type.find('{'); open != std::string::npos) {
        type = type.substr(open + 1, type.find('}', open) - open - 1);
        std::replace(type.begin(), type.end(), ',', ' ');
        return type;
    }
    const auto is_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '|';
    };
    if (type.find('|') == std::string::npos || !std::all_of(type.begin(), type.end(), is_word)) return {};
    std::replace(type.begin(), type.end(), '|', ' ');
    return type;
}

/// Lines of the two `case` statements that both shells share.
struct Cases {
    std::string paths;   ///< What is a subcommand where.
    std::string words;   ///< What may stand behind each subcommand.
    std::string values;  ///< What may stand behind an option that takes words of a fixed choice.
    std::string free;    ///< Options whose value is a file's name or free.
};

void collect(const Arguments& app, const std::string& path, Cases& cases) {
    std::string words;
    for (const auto& sub : app.subcommands()) {
        const auto below = path + " " + sub.name();
        words += sub.name() + " ";
        cases.paths += fmt::format("{}\"{}\"", cases.paths.empty() ? "" : "|", below);
        collect(sub, below, cases);
    }
    for (const auto& option : app.options()) {
        for (const auto& name : option.long_names()) {
            words += "--" + name + " ";
            if (!option.takes_value()) continue;
            const auto choice = words_of(option);
            const auto at = fmt::format("\"{} --{}\"", path, name);
            if (choice.empty()) {
                cases.free += (cases.free.empty() ? "" : "|") + at;
            } else {
                fmt::format_to(std::back_inserter(cases.values), "        {}) words=\"{}\";;\n", at, choice);
            }
        }
    }
    if (!words.empty()) words.pop_back();
    fmt::format_to(std::back_inserter(cases.words), "            \"{}\") words=\"{}\";;\n", path, words);
}

/// path: the subcommands given so far; previous: the word before the one to be completed.
std::string shared_body(const Arguments& program) {
    Cases cases;
    collect(program, program.name(), cases);
    return fmt::format(
        "        case \"$path $word\" in\n"
        "            {}) path=\"$path $word\";;\n"
        "        esac\n"
        "    done\n"
        "    case \"$path $previous\" in\n"
        "{}        {}) words=;;\n"
        "        *) case \"$path\" in\n"
        "{}        esac;;\n"
        "    esac\n",
        cases.paths, cases.values, cases.free, cases.words);
}

std::string bash(const Arguments& program) {
    return fmt::format(
        "# Completion of {0} for bash; made by `{0} completion bash`.\n"
        "_{0}() {{\n"
        "    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path={0} word words=\n"
        "    for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
        "{1}"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "}}\n"
        "complete -o bashdefault -o default -F _{0} {0}\n",
        program.name(), shared_body(program));
}

std::string zsh(const Arguments& program) {
    return fmt::format(
        "#compdef {0}\n"
        "# Completion of {0} for zsh; made by `{0} completion zsh`.\n"
        "_{0}() {{\n"
        "    local previous=${{words[CURRENT-1]}} path={0} word\n"
        "    local -a given=(\"${{(@)words[2,CURRENT-1]}}\")\n"
        "    local words=\n"
        "    for word in \"${{given[@]}}\"; do\n"
        "{1}"
        "    [[ -n $words ]] && compadd -- ${{=words}} || _files\n"
        "}}\n"
        "_{0} \"$@\"\n",
        program.name(), shared_body(program));
}

}  // namespace

Command completion_command(Arguments& program) {
    auto* command = program.add_subcommand("completion", "Print a completion script for a shell.");
    command->footer(
        "Examples:\n"
        "  millpond completion bash > /etc/bash_completion.d/millpond\n"
        "  source <(millpond completion bash)");
    auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash or zsh")->required()->one_of({"bash", "zsh"});
    return {command, [&program, shell] {
                fmt::print("{}", *shell == "zsh" ? zsh(program) : bash(program));
                return 0;
            }};
}

}  // namespace millpond::app
