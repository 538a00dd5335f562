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
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "apps/millpond/command.hpp"
#include "apps/millpond/command_line/misuse.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "service/build_info.hpp"

namespace {

using millpond::to_stderr;

constexpr int kFailed = 1;
constexpr int kMisused = 2;

/// A message that may quote a setting or a file name: control characters must reach neither the terminal nor the lines
/// of a log.
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
    } catch (const std::filesystem::filesystem_error& error) {
        to_stderr("millpond: {}: {}\n", in_one_line(error.path1().string()), error.code().message());
        return kFailed;
    } catch (const std::bad_alloc&) {
        to_stderr("{}: out of memory\n", name);
        return kFailed;
    } catch (const std::system_error& error) {
        // std::thread gives no other text.
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

/// Flushes standard output. A failure is an error of the command; a closed pipe is not.
int flushed(int exit_code) {
    errno = 0;
    const bool good = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (good || exit_code != 0 || has_no_reader()) return exit_code;
    to_stderr("millpond: cannot write to standard output: {}\n",
              std::generic_category().message(errno != 0 ? errno : EIO));
    return kFailed;
}

/// Help if only a group of commands was named, otherwise the error and how to get help.
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

/// Opens closed standard descriptors, so that no file, ring or socket of ours gets their numbers and receives the
/// output. Reading and writing them fails, as if they were closed.
void fill_standard_descriptors() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) ::_exit(kFailed);
    }
}

}  // namespace

int main(int argc, char** argv) {
    fill_standard_descriptors();
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, and does not end a gateway
    std::signal(SIGXFSZ, SIG_IGN);  // nor does a file at the limit of RLIMIT_FSIZE: it is as a full disk
    millpond::app::Arguments program{"millpond", "Market-data gateway and FIX engine."};
    const auto [version, commit] = millpond::service::build_info();
    program.version(fmt::format("millpond {} ({})", version, commit));
    program.require_subcommand(1);
    const std::vector<millpond::app::Command> commands{
        millpond::app::completion_command(program), millpond::app::config_command(program),
        millpond::app::doctor_command(program),     millpond::app::fix_command(program),
        millpond::app::gateway_command(program),    millpond::app::generate_command(program),
        millpond::app::journal_command(program),    millpond::app::manual_command(program),
        millpond::app::replay_command(program),     millpond::app::tail_command(program),
        millpond::app::top_command(program),
    };
    millpond::app::check_unsigned_options(program);
    try {
        if (!program.parse(argc, argv)) return flushed(0);
    } catch (const millpond::app::ParseError& error) {
        return explain(program, {argv + 1, static_cast<std::size_t>(argc - 1)}, error);
    }
    return flushed(run_chosen(commands));
}
