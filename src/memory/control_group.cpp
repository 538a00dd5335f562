#include "control_group.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "kernel_pages.hpp"
#include "named_object.hpp"

namespace millpond::memory {
namespace {

constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;  // Version 1 writes LONG_MAX in whole pages.

/// File and field names of a control group version.
struct Names {
    const char* limit;
    const char* current;
    std::array<const char*, 3> reclaimable;  // In memory.stat.
};
constexpr Names kVersion1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_active_file", "total_inactive_file", ""}};
constexpr Names kVersion2{"memory.max", "memory.current", {"active_file", "inactive_file", "slab_reclaimable"}};

/// Returns nullopt if the file does not exist or holds no number, such as "max".
std::optional<std::uint64_t> bytes_in(const std::string& path) {
    std::ifstream in(path);
    std::uint64_t number = 0;
    if (in >> number) return number;
    return std::nullopt;
}

/// The number after `key` and white space in a file of lines "key number".
std::uint64_t field_of(const std::string& path, std::string_view key) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string name;
        std::uint64_t number = 0;
        if (words >> name >> number && name == key) return number;
    }
    return 0;
}

void require_memory_in(const std::string& group, const Names& names, std::uint64_t bytes, std::uint64_t free_swap) {
    const auto limit = bytes_in(group + "/" + names.limit);
    if (!limit || *limit >= kUnlimited) return;
    auto used = bytes_in(group + "/" + names.current).value_or(0);
    for (const auto* field : names.reclaimable) {
        used -= std::min(used, field_of(group + "/memory.stat", field));
    }
    auto swap = free_swap;
    if (const auto most = bytes_in(group + "/memory.swap.max")) {
        swap = std::min(swap, *most - std::min(*most, bytes_in(group + "/memory.swap.current").value_or(0)));
    }
    const auto free = *limit - std::min(*limit, used) + swap;
    if (bytes <= free) return;
    fail(ENOMEM, "memory: asked for " + size_text(bytes) + ", " + group + "/" + names.limit + " is " +
                     size_text(*limit) + ", of which " + size_text(free) +
                     " are free; raise it (MemoryMax=) or ask for less");
}

/// Checks the group at `path` below the mount and its ancestors, which all limit it.
void require_memory_up_from(const std::string& mount, std::string path, const Names& names, std::uint64_t bytes,
                            std::uint64_t free_swap) {
    for (;;) {
        require_memory_in(mount + path, names, bytes, free_swap);
        if (path.empty()) return;
        path.resize(path.rfind('/'));
    }
}

}  // namespace

void require_memory_in_control_group(std::size_t bytes, const ControlGroupFiles& files) {
    const auto free_swap = field_of(files.meminfo, "SwapFree:") * 1024;
    // "0::/user.slice" or "4:cpu,memory:/user.slice"
    std::ifstream in(files.of_process);
    for (std::string line; std::getline(in, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const auto controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        auto path = line.substr(second + 1);
        if (path == "/" || !path.starts_with('/')) path.clear();
        if (controllers == ",,") {
            require_memory_up_from(files.mounts, path, kVersion2, bytes, free_swap);
        } else if (controllers.find(",memory,") != std::string::npos) {
            require_memory_up_from(files.mounts + "/memory", path, kVersion1, bytes, free_swap);
        }
    }
}

}  // namespace millpond::memory
