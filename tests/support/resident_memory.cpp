#include "tests/support/resident_memory.hpp"

#include <fstream>
#include <string>

namespace millpond::test {

std::size_t resident_bytes(std::string_view path) {
    std::ifstream maps{"/proc/self/smaps"};
    std::size_t kib = 0;
    bool ours = false;
    for (std::string line; std::getline(maps, line);) {
        // In smaps, a mapping's line begins with its address, and the lines of its values with a capital letter.
        if (line.front() < 'A' || line.front() > 'Z') ours = line.find(path) != std::string::npos;
        if (ours && line.starts_with("Rss:")) kib += std::stoul(line.substr(4));
    }
    return kib * 1024;
}

}  // namespace millpond::test
