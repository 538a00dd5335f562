#pragma once

#include <string>
#include <vector>

namespace millpond::bench {

/// Machine and build of a bench: the header of every table and result.
struct Machine {
    std::string cpu{};    ///< Output of bench/machine_name --processor.
    std::string cores{};  ///< Processors that this program may run on, as a list of the kernel.
    std::string kernel{};
    std::string compiler{};
    std::string flags{};
    std::string commit{};  ///< Followed by " and changes" if the working tree differs from it.
    std::string date{};    ///< UTC, ISO 8601.
    std::string command{};
    std::string load{};  ///< Load average over one minute before the first run.
};

[[nodiscard]] Machine describe_machine();

/// The command line, starting with the program.
[[nodiscard]] std::vector<std::string> command_line();

/// The program's file name without its folder.
[[nodiscard]] std::string program_name();

}  // namespace millpond::bench
