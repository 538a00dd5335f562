#pragma once

#include <cstddef>
#include <string>

namespace millpond::memory {

/// Paths of the kernel's files; tests use other files.
struct ControlGroupFiles {
    std::string of_process{"/proc/self/cgroup"};
    std::string meminfo{"/proc/meminfo"};
    std::string mounts{"/sys/fs/cgroup"};
};

/// Throws RegionError with ENOMEM if a control group of this process has no memory for `bytes` more present bytes: the
/// kernel would kill the process. Reclaimable memory of files and caches, and free swap, count as free.
///
/// Source: "Memory Interface Files" in the kernel's admin-guide/cgroup-v2, and admin-guide/cgroup-v1/memory.
void require_memory_in_control_group(std::size_t bytes, const ControlGroupFiles& files = {});

}  // namespace millpond::memory
