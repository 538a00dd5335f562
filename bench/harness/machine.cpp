#include "bench/harness/machine.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/format.h>

namespace millpond::bench {

namespace {

std::string field(const char* file, std::string_view name) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name)) continue;
        const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
        return value == std::string::npos ? "" : line.substr(value);
    }
    return "unknown";
}

std::string output(const std::string& command) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{popen(command.c_str(), "r"), pclose};
    std::string text;
    for (int c = 0; pipe && (c = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(c);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

std::string commit() {
    const std::string git = "git -C '" MILLPOND_BENCH_SOURCE "' ";
    auto hash = output(git + "rev-parse --short=10 HEAD 2>/dev/null");
    if (hash.empty()) return "unknown";
    // Results are written while benches run, and do not change what is measured.
    if (!output(git + "status --porcelain -- . ':!bench/results' ':!docs/reference/benchmarks.md' 2>/dev/null")
             .empty()) {
        hash += " and changes";
    }
    return hash;
}

}  // namespace

std::vector<std::string> command_line() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words;
}

std::string program_name() {
    const auto words = command_line();
    return words.empty() ? "unknown" : std::filesystem::path(words.front()).filename().string();
}

Machine describe_machine() {
    Machine machine;
    machine.cpu = output("'" MILLPOND_BENCH_SOURCE "/bench/machine_name' --processor 2>/dev/null");
    if (machine.cpu.empty()) machine.cpu = field("/proc/cpuinfo", "model name");
    machine.cores = field("/proc/self/status", "Cpus_allowed_list");
    utsname system{};
    uname(&system);
    machine.kernel = fmt::format("{} {}", system.sysname, system.release);
#if defined(__clang__)
    machine.compiler = "clang " __clang_version__;
#else
    machine.compiler = "g++ " __VERSION__;
#endif
    machine.flags = MILLPOND_BENCH_FLAGS;
    machine.commit = commit();
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    machine.date = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                               utc.tm_hour, utc.tm_min, utc.tm_sec);
    for (const auto& word : command_line()) machine.command += (machine.command.empty() ? "" : " ") + word;
    std::ifstream("/proc/loadavg") >> machine.load;
    return machine;
}

}  // namespace millpond::bench
