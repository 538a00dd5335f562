#include "apps/millpond/gateway/gateway_hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command_line/fix_example.hpp"
#include "apps/millpond/gateway/demo.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"

namespace millpond::app {
namespace {

/// Quotes a word for a shell if the shell would split or expand it.
std::string shell_word(const std::string& text) {
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr("/._-+:@", c) != nullptr; };
    if (!text.empty() && std::ranges::all_of(text, plain)) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
    return quoted + "'";
}

/// Returns a command that starts this program: its name if PATH finds it, else its path.
std::string program_command() {
    namespace fs = std::filesystem;
    std::error_code error;
    // NOLINTBEGIN(concurrency-mt-unsafe): the program never sets them
    // Set by the portable archive's starter, because /proc/self/exe is the loader then.
    const char* const starter = std::getenv("MILLPOND_PROGRAM");
    const char* const path = std::getenv("PATH");
    // NOLINTEND(concurrency-mt-unsafe)
    const auto self = starter != nullptr ? fs::path{starter} : fs::read_symlink("/proc/self/exe", error);
    std::istringstream folders{path == nullptr ? "" : path};
    for (std::string folder; std::getline(folders, folder, ':');) {
        const auto candidate = fs::path{folder} / "millpond";
        if (access(candidate.c_str(), X_OK) != 0) continue;
        if (fs::equivalent(candidate, self, error)) return "millpond";
        break;  // another program of that name precedes it in PATH
    }
    const auto nearby = self.lexically_relative(fs::current_path(error));
    const bool below = !nearby.empty() && *nearby.begin() != "..";
    return shell_word(below ? "./" + nearby.string() : self.string());
}

}  // namespace

void print_hints(const gateway::Config& config, const gateway::Gateway& gateway, bool demo) {
    const auto program = program_command();
    const auto& ring = gateway.pipelines().front()->config().name;
    const auto metrics = gateway.metrics_address();
    if (const auto web = gateway.address_of("web"); !web.empty()) {
        fmt::print("page: {}://{}/\n", config.first<gateway::web::Settings>()->tls.empty() ? "http" : "https",
                   web.to_string());
    }
    if (!metrics.empty()) fmt::print("metrics: http://{}/metrics\n", metrics.to_string());
    fmt::print("python: millpond.Ring(\"{}\").board()\n", ring);
    fmt::print("more commands:\n  {} tail --ring {}\n", program, shell_word(ring));
    const auto has_levels = [](const auto& feed) { return feed.format.depth().depth != 0; };
    if (std::ranges::any_of(config.feeds, has_levels)) {
        fmt::print("  {} tail --ring {} --depth 5\n", program, shell_word(ring));
    }
    if (!metrics.empty()) fmt::print("  {} top --gateway {}\n", program, metrics.to_string());
    if (const auto tcp = gateway.address_of("tcp"); !tcp.empty()) {
        const bool plain = config.first<gateway::tcp::Settings>()->tls.empty();
        const auto* const command = plain ? "bash -c 'cat </dev/tcp/{}/{}'" : "openssl s_client -quiet {}:{}";
        fmt::print("  {}\n", fmt::format(fmt::runtime(command), tcp.host(), tcp.port()));
    }
    if (const auto* csv = config.first<gateway::csv::Settings>()) {
        fmt::print("  tail -f {}\n", shell_word(csv->path));
    }
    const auto fix_address = [] {
        return free_address(net::SocketAddress::parse("127.0.0.1:5001"), "the FIX acceptor").to_string();
    };
    if (const auto commands = demo ? fix_example(program, fix_address) : std::vector<std::string>{};
        !commands.empty()) {
        fmt::print("a FIX session beside it, each command in its own terminal:\n");
        for (const auto& command : commands) fmt::print("  {}\n", command);
    }
    fmt::print("Ctrl-C stops it.\n");
    std::fflush(stdout);
}

}  // namespace millpond::app
