#include "kernel_pages.hpp"

#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

#include <millpond/core/exceptions.hpp>
#include <millpond/memory/region_options.hpp>

namespace millpond::memory {
namespace {

std::string first_line(const std::string& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

std::size_t number_in(const std::string& file) {
    const auto line = first_line(file);
    std::size_t value = 0;
    std::from_chars(line.data(), line.data() + line.size(), value);
    return value;
}

/// The range at the start of a line of smaps or numa_maps ("7f00-7f10 rw-p ..."); begin == end if it is not such a
/// line.
struct AddressRange {
    std::uintptr_t begin{0};
    std::uintptr_t end{0};
};

AddressRange address_range(std::string_view line) {
    AddressRange range;
    const auto* last = line.data() + line.size();
    const auto [dash, error] = std::from_chars(line.data(), last, range.begin, 16);
    if (error != std::errc{} || dash == last || *dash != '-') return {};
    if (std::from_chars(dash + 1, last, range.end, 16).ec != std::errc{}) return {};
    return range;
}

void read_smaps(std::uintptr_t begin, std::uintptr_t end, MappingFacts& facts) {
    std::ifstream in("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(in, line);) {
        if (const auto range = address_range(line); range.end != range.begin) {
            inside = range.begin < end && range.end > begin;
            continue;
        }
        if (!inside) continue;
        std::istringstream words(line);
        std::string key;
        std::size_t kib = 0;
        if (!(words >> key >> kib)) continue;
        const auto bytes = kib * 1024;
        if (key == "KernelPageSize:") {
            facts.page_bytes = bytes;
        } else if (key == "Rss:") {
            facts.resident_bytes += bytes;
        } else if (key == "Shared_Hugetlb:" || key == "Private_Hugetlb:") {
            facts.huge_bytes += bytes;
            facts.resident_bytes += bytes;  // Rss leaves them out.
        } else if (key == "AnonHugePages:" || key == "ShmemPmdMapped:" || key == "FilePmdMapped:") {
            facts.huge_bytes += bytes;
        } else if (key == "Locked:") {
            facts.locked_bytes += bytes;
        }
    }
}

/// "7f00 bind:0 anon=4 N0=4 kernelpagesize_kB=4": the one node that has pages of [begin, end), -1 if not exactly one.
int read_node(std::uintptr_t begin, std::uintptr_t end) {
    std::ifstream in("/proc/self/numa_maps");
    int node = -1;
    for (std::string line; std::getline(in, line);) {
        std::uintptr_t start = 0;
        std::from_chars(line.data(), line.data() + line.size(), start, 16);
        if (start < begin || start >= end) continue;
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            int found = 0;
            if (word.size() < 4 || word[0] != 'N') continue;
            const auto [equals, error] = std::from_chars(word.data() + 1, word.data() + word.size(), found);
            if (error != std::errc{} || *equals != '=') continue;
            if (node != -1 && node != found) return -1;
            node = found;
        }
    }
    return node;
}

}  // namespace

std::size_t base_page_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t round_up(std::size_t bytes, std::size_t unit) {
    // An eighth of the address space, so that no sum with the result overflows.
    if (bytes > std::numeric_limits<std::size_t>::max() / 8) {
        MILLPOND_THROW(RegionError(ENOMEM, std::generic_category(),
                                   "region of " + size_text(bytes) + " exceeds the address space"));
    }
    return (bytes + unit - 1) & ~(unit - 1);
}

std::string size_text(std::size_t bytes) {
    constexpr std::array<const char*, 4> kUnits{" bytes", " KiB", " MiB", " GiB"};
    std::size_t unit = 0;
    while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
        bytes /= 1024;
        ++unit;
    }
    return std::to_string(bytes) + kUnits[unit];
}

std::string huge_page_shortage(std::size_t bytes) {
    const std::string pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
    const auto free_pages = number_in(pool + "free_hugepages");
    const auto reserved = std::min(free_pages, number_in(pool + "resv_hugepages"));
    return "huge pages: asked for " + size_text(bytes) + ", " + std::to_string(free_pages - reserved) + " of " +
           std::to_string(round_up(bytes, kHugePageBytes) / kHugePageBytes) + " pages free";
}

std::string transparent_choice(const char* file) {
    const auto line = first_line(std::string("/sys/kernel/mm/transparent_hugepage/") + file);
    const auto open = line.find('[');
    const auto close = line.find(']');
    if (open == std::string::npos || close == std::string::npos) return "not known";
    return line.substr(open + 1, close - open - 1);
}

std::vector<std::string> huge_page_mounts() {
    // mountinfo: "36 35 0:31 / /dev/hugepages rw,relatime shared:1 - hugetlbfs hugetlbfs rw,pagesize=2M"
    std::vector<std::string> mounts;
    std::ifstream in("/proc/self/mountinfo");
    for (std::string line; std::getline(in, line);) {
        if (line.find(" - hugetlbfs ") == std::string::npos) continue;
        std::istringstream words(line);
        std::string skipped;
        std::string point;
        words >> skipped >> skipped >> skipped >> skipped >> point;
        struct statfs facts{};
        if (statfs(point.c_str(), &facts) != 0 || static_cast<std::size_t>(facts.f_bsize) != kHugePageBytes) continue;
        mounts.push_back(point);
    }
    return mounts;
}

bool node_is_online(int node, std::string& online) {
    online = first_line("/sys/devices/system/node/online");
    if (online.empty()) online = "0";  // A kernel without NUMA.
    std::istringstream ranges(online);
    for (std::string range; std::getline(ranges, range, ',');) {
        int first = 0;
        const auto* last_char = range.data() + range.size();
        const auto [next, error] = std::from_chars(range.data(), last_char, first);
        if (error != std::errc{}) continue;
        int last = first;
        if (next != last_char && *next == '-') std::from_chars(next + 1, last_char, last);
        if (node >= first && node <= last) return true;
    }
    return false;
}

MappingFacts read_mapping(const void* start, std::size_t size) {
    MappingFacts facts;
    const auto begin = reinterpret_cast<std::uintptr_t>(start);
    read_smaps(begin, begin + size, facts);
    facts.node = read_node(begin, begin + size);
    return facts;
}

}  // namespace millpond::memory
