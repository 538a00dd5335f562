#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// The kernel's information on pages, from /sys and /proc.
namespace millpond::memory {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

[[nodiscard]] std::size_t base_page_bytes() noexcept;

/// The next multiple of `unit`, a power of two. Throws RegionError if there is none.
[[nodiscard]] std::size_t round_up(std::size_t bytes, std::size_t unit);

/// Formats a size with the largest unit that divides it: "64 MiB", "12 KiB", "5 bytes".
[[nodiscard]] std::string size_text(std::size_t bytes);

/// Describes the pool of 2 MiB pages: "huge pages: asked for 64 MiB, 0 of 32 pages free".
[[nodiscard]] std::string huge_page_shortage(std::size_t bytes);

/// The selected value in a file of /sys/kernel/mm/transparent_hugepage; "not known" if there is none.
[[nodiscard]] std::string transparent_choice(const char* file);

/// Mount points of hugetlbfs with 2 MiB pages.
[[nodiscard]] std::vector<std::string> huge_page_mounts();

/// Whether memory may be bound to the node. `online` receives the kernel's list of nodes, such as "0-1".
[[nodiscard]] bool node_is_online(int node, std::string& online);

struct MappingFacts {
    std::size_t page_bytes{0};
    std::size_t huge_bytes{0};
    std::size_t resident_bytes{0};
    std::size_t locked_bytes{0};
    int node{-1};
};

/// Sums the entries of /proc/self/smaps and numa_maps for [start, start + size).
[[nodiscard]] MappingFacts read_mapping(const void* start, std::size_t size);

}  // namespace millpond::memory
