#pragma once

#include <string>
#include <vector>

namespace millpond::bench {

/// Where and how a bench ran: the header of every table and result.
struct Machine {
    std::string cpu{};    ///< As bench/machine_name --processor says.
    std::string cores{};  ///< The processors that this program may run on, as the kernel lists them.
    std::string kernel{};
    std::string compiler{};
    std::string flags{};
    std::string commit{};  ///< With " and changes" when the working tree differs from it.
    std::string date{};    ///< UTC, ISO 8601.
    std::string command{};
    std::string load{};  ///< Load average over one minute before the first run: is the machine quiet?
};

[[nodiscard]] Machine describe_machine();

/// This program's command line, the program first.
[[nodiscard]] std::vector<std::string> command_line();

/// The program's file name without its folder.
[[nodiscard]] std::string program_name();

}  // namespace millpond::bench
