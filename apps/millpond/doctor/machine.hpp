#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "apps/millpond/doctor/finding.hpp"

namespace millpond::app::doctor {

/// What the gateway needs from the machine.
struct Needs {
    std::set<std::uint32_t> pinned;  ///< Processors of its receive threads.
    bool realtime{false};
    bool lock{false};
    std::uint64_t huge_bytes{0};      ///< Of rings and boards that want huge pages.
    std::uint64_t receive_buffer{0};  ///< The largest of any feed.
};

/// "0-3,5" as the kernel writes lists of processors; parts that are not numbers are skipped.
[[nodiscard]] std::set<std::uint32_t> parse_cpus(const std::string& text);

/// Checks a machine for low latency. root: the folder with /proc and /sys, "/" on a real machine. Settings that a
/// machine does not have (a virtual one has no governor) are not reported.
[[nodiscard]] std::vector<Finding> check_machine(const std::filesystem::path& root, const Needs& needs);

}  // namespace millpond::app::doctor
