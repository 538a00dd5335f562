#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/misuse.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "service/build_info.hpp"
#include "service/settings/errors.hpp"

namespace {

using millpond::to_stderr;

constexpr int kFailed = 1;
constexpr int kMisused = 2;

/// Escapes control characters of a message, which may quote a setting or a file name, for terminals and logs.
std::string in_one_line(std::string_view text) {
    std::string line;
    for (const char c : text) {
        if (c == '\n') {
            line += "\\n";
        } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
            line += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
        } else {
            line += c;
        }
    }
    return line;
}

int run_chosen(const std::vector<millpond::app::Command>& commands) {
    std::string name{"millpond"};
    try {
        for (const auto& command : commands) {
            if (!command.options->parsed()) continue;
            name += " " + command.options->name();
            return command.run();
        }
    } catch (const millpond::app::UsageError& error) {
        to_stderr("millpond: {}\n", in_one_line(error.what()));
        return kMisused;
    } catch (const millpond::settings::ConfigErrors& errors) {
        for (const auto& error : errors.all()) to_stderr("millpond: {}\n", in_one_line(error));
        return kFailed;
    } catch (const std::filesystem::filesystem_error& error) {
        to_stderr("millpond: {}: {}\n", in_one_line(error.path1().string()), error.code().message());
        return kFailed;
    } catch (const std::bad_alloc&) {
        to_stderr("{}: out of memory\n", name);
        return kFailed;
    } catch (const std::system_error& error) {
        // std::thread has no more precise error.
        const bool is_thread =
            error.code() == std::errc::resource_unavailable_try_again && error.what() == error.code().message();
        to_stderr("{}: {}{}\n", is_thread ? name : "millpond",
                  is_thread ? "cannot start a thread: memory or the number of threads is short (ulimit -u, -v): " : "",
                  in_one_line(error.what()));
        return kFailed;
    } catch (const std::exception& error) {
        to_stderr("millpond: {}\n", in_one_line(error.what()));
        return kFailed;
    }
    return kMisused;
}

/// Whether standard output is a pipe without a reader.
bool has_no_reader() {
    pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/// Flushes standard output. Returns exit code 1 if that fails, except for a closed pipe.
int flushed(int exit_code) {
    errno = 0;
    const bool good = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (good || exit_code != 0 || has_no_reader()) return exit_code;
    to_stderr("millpond: cannot write to standard output: {}\n",
              std::generic_category().message(errno != 0 ? errno : EIO));
    return kFailed;
}

/// Prints the help if only a group of commands was named, otherwise the error and a hint at the help.
int explain(const millpond::app::Arguments& program, std::span<char* const> arguments,
            const millpond::app::ParseError& error) {
    const auto& command = millpond::app::chosen(program, arguments);
    std::string parents;
    for (const auto* up = command.parent(); up != nullptr; up = up->parent()) {
        parents = up->name() + (parents.empty() ? "" : " ") + parents;
    }
    const auto name = parents + (parents.empty() ? "" : " ") + command.name();
    const bool only_commands = std::ranges::none_of(arguments, [](const char* word) { return *word == '-'; });
    const bool group = !command.subcommands().empty();
    const auto depth = static_cast<std::size_t>(std::ranges::count(name, ' '));
    if (only_commands && group && arguments.size() == depth) {
        fmt::print("{}", command.help_page(parents));
        return flushed(0);
    }
    to_stderr("{}: {}\nRun `{} --help` for more information.\n", name, millpond::app::misuse(program, arguments, error),
              name);
    return kMisused;
}

/// Opens closed standard descriptors, so that no file, ring or socket gets their numbers and receives the output. Reads
/// and writes fail, as if they were closed.
void fill_standard_descriptors() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) ::_exit(kFailed);
    }
}

/// Rewrites `millpond help COMMAND... TOPIC...` to `millpond COMMAND... --help TOPIC...`, and `millpond version` to
/// `millpond --version`.
std::vector<char*> in_flags(const millpond::app::Arguments& program, int argc, char** argv) {
    static char help[] = "--help";        // NOLINT(*-avoid-c-arrays): argv's strings are mutable
    static char version[] = "--version";  // NOLINT(*-avoid-c-arrays): the same
    std::vector<char*> words{argv, argv + argc};
    if (argc == 2 && std::string_view{argv[1]} == "version") words[1] = version;
    if (argc > 1 && std::string_view{argv[1]} == "help") {
        words.erase(words.begin() + 1);
        const auto* at = &program;
        auto end = words.begin() + 1;
        for (; end != words.end(); ++end) {
            const auto& commands = at->subcommands();
            const auto found = std::ranges::find(commands, std::string{*end}, &millpond::app::Arguments::name);
            if (found == commands.end()) break;
            at = &*found;
        }
        words.insert(end, help);
    }
    words.push_back(nullptr);
    return words;
}

}  // namespace

int main(int argc, char** argv) {
    fill_standard_descriptors();
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, and does not end a gateway
    std::signal(SIGXFSZ, SIG_IGN);  // a file at the limit of RLIMIT_FSIZE is a failed write too, like a full disk
    millpond::app::Arguments program{"millpond", "Market-data gateway and FIX engine."};
    const auto [version, commit] = millpond::service::build_info();
    program.version(fmt::format("millpond {} ({})", version, commit));
    program.require_subcommand(1);
    const std::vector<millpond::app::Command> commands{
        millpond::app::book_command(program),       millpond::app::capture_report_command(program),
        millpond::app::completion_command(program), millpond::app::config_command(program),
        millpond::app::demo_command(program),       millpond::app::doctor_command(program),
        millpond::app::events_command(program),     millpond::app::fix_command(program),
        millpond::app::gateway_command(program),    millpond::app::generate_command(program),
        millpond::app::init_command(program),       millpond::app::journal_command(program),
        millpond::app::manual_command(program),     millpond::app::replay_command(program),
        millpond::app::tail_command(program),       millpond::app::top_command(program),
    };
    millpond::app::check_unsigned_options(program);
    auto words = in_flags(program, argc, argv);
    const std::span arguments{words.data(), words.size() - 1};
    try {
        if (!program.parse(static_cast<int>(arguments.size()), words.data())) return flushed(0);
    } catch (const std::invalid_argument& error) {
        to_stderr("{}\n", in_one_line(error.what()));
        return kMisused;
    } catch (const millpond::app::ParseError& error) {
        return explain(program, arguments.subspan(1), error);
    }
    return flushed(run_chosen(commands));
}
