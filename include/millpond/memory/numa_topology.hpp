#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millpond::memory {

/// The NUMA nodes with memory, and the node of each processor. May be fictitious: a pool then places its blocks by it,
/// although the kernel has no such nodes.
///
/// Threads: a value; may be read on any thread.
struct NumaTopology {
    /// Returns the processor on which the calling thread runs.
    using CurrentCpu = int (*)() noexcept;

    std::vector<int> nodes{0};                 ///< Numbers of the nodes, ascending, at least one.
    std::vector<std::uint8_t> index_of_cpu{};  ///< Index in `nodes` by processor; 0 for processors beyond its size.
    CurrentCpu current_cpu{&calling_cpu};
    bool bind{true};  ///< Whether memory can be bound to these nodes: false for fictitious ones.

    /// Index in `nodes` of the calling thread's node.
    [[nodiscard]] std::size_t here() const noexcept {
        const auto cpu = static_cast<std::size_t>(current_cpu());
        return cpu < index_of_cpu.size() ? index_of_cpu[cpu] : 0;
    }

    /// Reads the kernel's files in `root`; one node if there are none. Processors of a node without memory belong to
    /// the first node. Throws std::length_error above 255 nodes.
    [[nodiscard]] static NumaTopology of_system(const std::string& root = "/sys/devices/system/node");

private:
    static int calling_cpu() noexcept;
};

}  // namespace millpond::memory
