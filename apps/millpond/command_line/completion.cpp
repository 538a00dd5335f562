#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/millpond/command_line/command.hpp"

namespace millpond::app {
namespace {

/// Returns the words that an option accepts, from its type ("spin|block", "TEXT:{table,json}"); empty if it accepts any
/// text.
std::string words_of(std::string type) {
    if (const auto open = type.find('{'); open != std::string::npos) {
        type = type.substr(open + 1, type.find('}', open) - open - 1);
        std::replace(type.begin(), type.end(), ',', ' ');
        return type;
    }
    const auto is_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '|';
    };
    if (!std::all_of(type.begin(), type.end(), is_word)) return {};
    std::replace(type.begin(), type.end(), '|', ' ');
    return type;
}

/// Returns the keys with the words that they accept: "listen= format=bbo28 format=itch rebuild=true rebuild=false".
std::string pairs_of(const Option& option) {
    std::string pairs;
    for (const auto& [key, shape] : option.pairs()) {
        std::istringstream words{shape.empty() ? "true false" : words_of(shape)};
        std::string word;
        do {
            words >> word;
            pairs += fmt::format("{}{}={}", pairs.empty() ? "" : " ", key, word);
        } while (words.good());
    }
    return pairs;
}

/// Lines of the two `case` statements that both shells share.
struct Cases {
    std::string paths;   ///< Subcommands of each command.
    std::string words;   ///< Options and operands of each subcommand.
    std::string values;  ///< Values of options with a fixed choice of words, or pairs.
    std::string free;    ///< Options with a file name or free text as their value.
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
            const auto choice = words_of(option.type());
            const auto at = fmt::format("\"{} --{}\"", path, name);
            if (!option.pairs().empty()) {
                fmt::format_to(std::back_inserter(cases.values), "        {}) pairs=\"{}\";;\n", at, pairs_of(option));
            } else if (choice.empty()) {
                cases.free += (cases.free.empty() ? "" : "|") + at;
            } else {
                fmt::format_to(std::back_inserter(cases.values), "        {}) words=\"{}\";;\n", at, choice);
            }
        }
    }
    if (!words.empty()) words.pop_back();
    fmt::format_to(std::back_inserter(cases.words), "            \"{}\") words=\"{}\";;\n", path, words);
}

/// Returns the part of the script that both shells share. Its variables: path, the subcommands so far; previous, the
/// word before the one to be completed.
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
        "    local line=${{COMP_LINE:0:COMP_POINT}} path={0} word words= pairs=\n"
        "    local current=${{line##*[[:space:]]}}\n"
        "    local -a given\n"
        "    read -ra given <<< \"${{line%\"$current\"}}\"\n"
        "    local previous=${{given[-1]}}\n"
        "    for word in \"${{given[@]:1}}\"; do\n"
        "{1}"
        "    if [[ -z $pairs ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "        return\n"
        "    fi\n"
        "    local before=${{current%\"${{current##*,}}\"}}\n"
        "    COMPREPLY=($(compgen -P \"$before\" -W \"$pairs\" -- \"${{current##*,}}\"))\n"
        "    # = and : end a word of bash, which replaces the last one only.\n"
        "    COMPREPLY=(\"${{COMPREPLY[@]#\"${{current%\"${{current##*[=:]}}\"}}\"}}\")\n"
        "    compopt -o nospace 2>/dev/null\n"
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
        "    local words= pairs=\n"
        "    for word in \"${{given[@]}}\"; do\n"
        "{1}"
        "    if [[ -n $pairs ]]; then\n"
        "        compset -P '*,'\n"
        "        compadd -S '' -- ${{=pairs}}\n"
        "    elif [[ -n $words ]]; then\n"
        "        compadd -- ${{=words}}\n"
        "    else\n"
        "        _files\n"
        "    fi\n"
        "}}\n"
        "_{0} \"$@\"\n",
        program.name(), shared_body(program));
}

/// A text as one word of fish, in single quotes.
std::string fish_word(std::string_view text) {
    std::string word = "'";
    for (const char c : text.substr(0, text.find('\n'))) {
        if (c == '\'' || c == '\\') word += '\\';
        word += c;
    }
    return word + "'";
}

void fish_lines(const Arguments& app, const std::string& path, const std::string& program, std::string& out) {
    const auto at = fmt::format("complete -c {0} -n '__{0}_at \"{1}\"'", program, path);
    for (const auto& sub : app.subcommands()) {
        out += fmt::format("{} -f -a {} -d {}\n", at, sub.name(), fish_word(sub.help()));
        fish_lines(sub, path + (path.empty() ? "" : " ") + sub.name(), program, out);
    }
    for (const auto& option : app.options()) {
        if (option.is_positional()) {
            if (const auto words = words_of(option.type()); !words.empty())
                out += fmt::format("{} -f -a {}\n", at, fish_word(words));
            continue;
        }
        for (const auto& name : option.long_names()) {
            out += fmt::format("{} -l {} -d {}", at, name, fish_word(option.help()));
            if (option.takes_value()) {
                const auto words = option.pairs().empty() ? words_of(option.type()) : pairs_of(option);
                out += words.empty() ? " -r" : fmt::format(" -x -a {}", fish_word(words));
            }
            out += '\n';
        }
    }
}

/// The path of the command is made of the words that are commands at their place.
std::string fish(const Arguments& program) {
    Cases cases;
    collect(program, program.name(), cases);
    std::string lines;
    fish_lines(program, "", program.name(), lines);
    std::string paths = cases.paths;
    std::replace(paths.begin(), paths.end(), '|', ' ');
    return fmt::format(
        "# Completion of {0} for fish; made by `{0} completion fish`.\n"
        "function __{0}_at\n"
        "    set -l path {0}\n"
        "    for word in (commandline -opc)[2..-1]\n"
        "        contains -- \"$path $word\" {1}; and set path \"$path $word\"\n"
        "    end\n"
        "    test \"$path\" = (string trim \"{0} $argv[1]\")\n"
        "end\n"
        "{2}",
        program.name(), paths, lines);
}

}  // namespace

Command completion_command(Arguments& program) {
    auto* command = program.add_subcommand("completion", "Print a completion script for a shell.");
    command->footer(
        "Examples:\n"
        "  millpond completion bash > /etc/bash_completion.d/millpond\n"
        "  source <(millpond completion bash)\n"
        "  millpond completion fish > ~/.config/fish/completions/millpond.fish");
    auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->one_of({"bash", "zsh", "fish"});
    return {command, [&program, shell] {
                fmt::print("{}", *shell == "zsh" ? zsh(program) : *shell == "fish" ? fish(program) : bash(program));
                return 0;
            }};
}

}  // namespace millpond::app
