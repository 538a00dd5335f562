#include <fmt/format.h>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "apps/millpond/command_line/command.hpp"
#include "service/build_info.hpp"
#include "service/settings/nearest.hpp"
#include "service/stdio_pipe.hpp"

namespace millpond::app {
namespace {

/// Escapes text for man(7), so that none of it is a macro.
std::string escaped(std::string_view text) {
    std::string out;
    bool begins = true;
    for (const char c : text) {
        if (begins && (c == '.' || c == '\'')) out += "\\&";
        begins = c == '\n';
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
    return text;
}

/// Returns the full name of a command, such as "millpond config check".
std::string full_name(const Arguments& app, std::string_view between) {
    const auto* parent = app.parent();
    return parent == nullptr ? app.name() : full_name(*parent, between) + std::string{between} + app.name();
}

std::string synopsis(const Arguments& app) {
    auto line = fmt::format("\\fB{}\\fR [\\fIOPTIONS\\fR]", escaped(full_name(app, " ")));
    for (const auto& option : app.options()) {
        if (option.is_positional()) line += fmt::format(" \\fI{}\\fR", escaped(option.names()));
    }
    if (!app.subcommands().empty()) line += " \\fISUBCOMMAND\\fR";
    return line + "\n";
}

std::string option_paragraphs(const Arguments& app) {
    std::string text;
    for (const auto& option : app.options()) {
        text += fmt::format(".TP\n\\fB{}\\fR", escaped(option.names()));
        if (option.takes_value() && !option.is_positional()) text += fmt::format(" \\fI{}\\fR", escaped(option.type()));
        text += "\n";
        const auto help = option.help();
        const auto line_end = std::min(help.find('\n'), help.size());
        text += escaped(help.substr(0, line_end)) + "\n";
        // The lines after the first one are a preformatted table.
        if (line_end != help.size()) text += ".nf\n" + escaped(help.substr(line_end + 1)) + "\n.fi\n";
        if (!option.default_text().empty()) {
            text += fmt::format("Default: {}.\n", escaped(option.default_text()));
        }
    }
    return text;
}

std::string footer(const Arguments& app) {
    const auto text = app.footer();
    return text.empty() ? "" : ".PP\n.nf\n" + escaped(text) + "\n.fi\n";
}

void write_nested(const Arguments& app, std::string& page) {
    for (const auto& sub : app.subcommands()) {
        page += fmt::format(".SH {}\n{}.PP\n{}\n{}{}", escaped(upper(sub.name())), synopsis(sub), escaped(sub.help()),
                            option_paragraphs(sub), footer(sub));
        write_nested(sub, page);
    }
}

std::string page_of(const Arguments& app) {
    const bool top = app.parent() == nullptr;
    const auto name = full_name(app, "-");
    auto page = fmt::format(".TH {} 1 \"\" \"millpond {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
                            escaped(upper(name)), service::build_info().version, escaped(name), escaped(app.help()),
                            synopsis(app));
    page += ".SH OPTIONS\n" + option_paragraphs(app);
    if (top) {
        page += ".SH SUBCOMMANDS\n";
        for (const auto& sub : app.subcommands()) {
            page += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", escaped(full_name(sub, "-")), escaped(sub.help()));
        }
        page += ".SH EXIT STATUS\n0 on success, 1 on failure, 2 for an invalid command line.\n";
        page += ".SH FILES\n.TP\n\\fI/etc/millpond/gateway.toml\\fR\nConfiguration of the service millpond.service.\n";
    } else {
        write_nested(app, page);
        if (!footer(app).empty()) page += ".SH NOTES\n" + footer(app);
        page += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)", escaped(full_name(*app.parent(), "-")));
        for (const auto& sub : app.subcommands()) page += fmt::format(", \\fB{}\\fR(1)", escaped(full_name(sub, "-")));
        page += "\n";
    }
    return page;
}

const Arguments& find(const Arguments& group, const std::string& name) {
    for (const auto& sub : group.subcommands()) {
        if (sub.name() == name) return sub;
    }
    std::vector<std::string> names;
    for (const auto& sub : group.subcommands()) names.push_back(sub.name());
    const auto hint = settings::did_you_mean(name, std::vector<std::string_view>{names.begin(), names.end()});
    throw UsageError(fmt::format("manual: unknown command '{}'; {}", name,
                                 hint.empty() ? fmt::format("known are: {}", fmt::join(names, ", ")) : hint));
}

void write_file(const Arguments& app, const std::string& folder) {
    const auto path = fmt::format("{}/{}.1", folder, full_name(app, "-"));
    std::ofstream out{path};
    out << page_of(app);
    out.close();
    if (!out) throw std::runtime_error(fmt::format("manual: cannot write '{}'", path));
}

void write_all(const Arguments& app, const std::string& folder) {
    write_file(app, folder);
    for (const auto& sub : app.subcommands()) write_all(sub, folder);
}

bool is_shown_by(const char* shell_command, const std::string& text) {
    service::StdioPipe pager{popen(shell_command, "w")};
    if (!pager) return false;
    std::fwrite(text.data(), 1, text.size(), pager.get());
    return pclose(pager.release()) == 0;
}

/// Shows a page on a terminal with man(1) or, where that is missing, its help with a pager. Prints it otherwise.
void show(const Arguments& app) {
    const auto page = page_of(app);
    if (isatty(STDOUT_FILENO) != 1) {
        fmt::print("{}", page);
        return;
    }
    if (is_shown_by("command -v man >/dev/null && exec man -l -", page)) return;
    const auto help = app.help_page(app.parent() == nullptr ? "" : full_name(*app.parent(), " "));
    if (!is_shown_by("exec ${PAGER:-less}", help)) fmt::print("{}", help);
}

}  // namespace

Command manual_command(Arguments& program) {
    auto* command = program.add_subcommand("manual", "Show the manual page of the program or of a subcommand.");
    command->footer(
        "Examples:\n"
        "  millpond manual gateway\n"
        "  millpond manual fix acceptor > millpond-fix-acceptor.1");
    auto names = std::make_shared<std::vector<std::string>>();
    auto folder = std::make_shared<std::string>();
    auto* one = command->add_option("SUBCOMMAND", *names, "subcommand; the program's own page if omitted");
    command->add_option("--all", *folder, "write all pages as files into this folder instead")
        ->type_name("FOLDER")
        ->excludes(one);
    return {command, [&program, names, folder] {
                if (!folder->empty()) {
                    write_all(program, *folder);
                } else {
                    const auto* chosen = &program;
                    for (const auto& name : *names) chosen = &find(*chosen, name);
                    show(*chosen);
                }
                return 0;
            }};
}

}  // namespace millpond::app
