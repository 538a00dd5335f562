#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millpond::memory {

/// Which NUMA nodes have memory, and which processor belongs to which of them. May be made up: a pool then places its
/// blocks by it, although the kernel knows no such nodes.
///
/// Threads: a value; reading it is free on any.
struct NumaTopology {
    /// The processor that the calling thread runs on.
    using CurrentCpu = int (*)() noexcept;

    std::vector<int> nodes{0};               ///< Their numbers, ascending, at least one.
    std::vector<std::uint8_t> index_of_cpu;  ///< By processor, an index of `nodes`; processors beyond it have 0.
    CurrentCpu current_cpu{&calling_cpu};
    bool bind{true};  ///< Memory can be bound to these nodes: false for made-up ones.

    /// Index in `nodes` of the calling thread's node.
    [[nodiscard]] std::size_t here() const noexcept {
        const auto cpu = static_cast<std::size_t>(current_cpu());
        return cpu < index_of_cpu.size() ? index_of_cpu[cpu] : 0;
    }

    /// What the kernel says in `root`; one node when it says nothing. Processors of a node without memory belong to the
    /// first node. Throws std::length_error above 255 nodes.
    [[nodiscard]] static NumaTopology of_system(const std::string& root = "/sys/devices/system/node");

private:
    static int calling_cpu() noexcept;
};

}  // namespace millpond::memory
