#include <millpond/core/exceptions.hpp>
#include <millpond/memory/numa_topology.hpp>

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace millpond::memory {
namespace {

/// Reads the numbers of a kernel list such as "0-3,8"; empty if there is no such file.
std::vector<int> numbers_in(const std::string& file) {
    std::vector<int> numbers;
    std::ifstream in(file);
    for (std::string range; std::getline(in, range, ',');) {
        std::istringstream words(range);
        int first = 0;
        if (!(words >> first)) break;
        int last = first;
        if (char dash = 0; words >> dash) words >> last;
        for (auto number = first; number <= last; ++number) numbers.push_back(number);
    }
    return numbers;
}

}  // namespace

int NumaTopology::calling_cpu() noexcept { return sched_getcpu(); }

NumaTopology NumaTopology::of_system(const std::string& root) {
    NumaTopology topology;
    const auto with_memory = numbers_in(root + "/has_memory");
    if (with_memory.empty()) return topology;
    if (with_memory.size() > std::numeric_limits<std::uint8_t>::max()) {
        MILLPOND_THROW(std::length_error(std::to_string(with_memory.size()) + " NUMA nodes, the maximum is 255"));
    }
    topology.nodes = with_memory;
    for (std::size_t index = 0; index < with_memory.size(); ++index) {
        for (const auto cpu : numbers_in(root + "/node" + std::to_string(with_memory[index]) + "/cpulist")) {
            const auto place = static_cast<std::size_t>(cpu);
            topology.index_of_cpu.resize(std::max(topology.index_of_cpu.size(), place + 1));
            topology.index_of_cpu[place] = static_cast<std::uint8_t>(index);
        }
    }
    return topology;
}

}  // namespace millpond::memory
