#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "apps/millpond/doctor/finding.hpp"

namespace millpond::app::doctor {

/// Requirements of the gateway on the machine.
struct Needs {
    std::set<std::uint32_t> pinned;  ///< Processors of its receive threads.
    bool realtime{false};
    bool lock{false};
    std::uint64_t huge_bytes{0};      ///< Bytes of rings and boards with huge pages.
    std::uint64_t receive_buffer{0};  ///< Largest receive buffer of the feeds.
};

/// Parses a list of processors in the kernel's format, "0-3,5"; skips parts that are not numbers.
[[nodiscard]] std::set<std::uint32_t> parse_cpus(const std::string& text);

/// Receive buffer that the kernel grants to a feed of this process that requests `bytes`.
[[nodiscard]] std::uint64_t granted_receive_buffer(std::uint64_t bytes);

/// Checks a machine for low latency. root: the folder with /proc and /sys, "/" on a real machine. granted_buffer: of
/// needs.receive_buffer. Settings that do not exist (a virtual machine has no governor) are not reported.
[[nodiscard]] std::vector<Finding> check_machine(const std::filesystem::path& root, const Needs& needs,
                                                 std::uint64_t granted_buffer);

}  // namespace millpond::app::doctor
