#include "bench/harness/compare.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bench/harness/machine.hpp"
#include "bench/harness/measure.hpp"
#include "bench/harness/report.hpp"

namespace millpond::bench {

namespace {

// The folder after --results, or empty. quick() reads --quick.
std::filesystem::path results_folder(const std::vector<std::string>& words) {
    std::filesystem::path folder;
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "--results" && i + 1 < words.size()) {
            folder = words[++i];
        } else if (words[i] != "--quick") {
            throw Refused(fmt::format("unknown option {}; there are --quick and --results FOLDER", words[i]));
        }
    }
    return folder;
}

void write(const std::filesystem::path& folder, const std::string& text) {
    std::filesystem::create_directories(folder);
    const auto path = folder / (program_name() + ".json");
    std::ofstream file(path);
    if (!(file << text << std::flush)) throw Refused("cannot write " + path.string());
}

}  // namespace

bool quick() noexcept {
    static const bool answer = std::ranges::count(command_line(), "--quick") > 0;
    return answer;
}

std::size_t scaled(std::size_t count) noexcept { return quick() ? std::max<std::size_t>(count / 10, 1) : count; }

int ask(const Question& question, const std::vector<Contender>& contenders, const std::vector<std::string>& words) {
    try {
        const auto folder = results_folder(words);
        const auto machine = describe_machine();
        const auto result = measure(question, contenders);
        fmt::print("{}\n", text_table(result, machine));
        if (!folder.empty()) write(folder, json(result, machine));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: no figures: {}\n", program_name(), error.what());
        return 1;
    }
}

void compare(const Question& question, const std::vector<Contender>& contenders) {
    if (const auto status = ask(question, contenders, command_line()); status != 0) std::exit(status);
}

}  // namespace millpond::bench
