#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace millpond::memory {

/// Whether a Region uses 2 MiB pages.
enum class HugePages : std::uint8_t {
    none,         ///< Pages of the machine's base size; transparent huge pages are declined.
    transparent,  ///< Transparent huge pages, else base pages: see RegionReport::shortfall. Uses up no reserved ones.
    prefer,       ///< Reserved huge pages, else as transparent.
    require,      ///< Reserved huge pages, else a RegionError that names the setting to change.
};

/// Whether reserved huge pages may be used.
[[nodiscard]] constexpr bool may_use_reserved(HugePages pages) noexcept {
    return pages == HugePages::prefer || pages == HugePages::require;
}

enum class Access : std::uint8_t { read_only, writable };

/// Any node: the kernel places each page where it is first touched.
inline constexpr int kAnyNode = -1;

/// An object's group: the one that the system assigns to files created by this process.
inline constexpr std::uint32_t kOwnGroup = ~std::uint32_t{0};

struct RegionOptions {
    HugePages huge_pages{HugePages::none};
    bool prefault{false};     ///< Every page is present when the factory returns, so that no later access faults.
    bool lock{false};         ///< mlock: pages never leave memory. Implies that they are present.
    int numa_node{kAnyNode};  ///< Bind every page to this node. Not for regular files, which the kernel places.
    bool exclusive{false};    ///< Take the owner lock before anything is changed (shared, file).
    /// Refuse an object that belongs to another user, root excepted, or that has a second name: its owner could
    /// truncate it under the mapping. Implied by `exclusive`.
    bool own{false};
    /// Permissions of an object that is created, exactly these whatever the umask is. With `exclusive` an object that
    /// exists gets them too, and the group.
    std::uint32_t mode{0600};
    std::uint32_t group{kOwnGroup};  ///< Number of the group it belongs to.
};

/// The memory of a Region, as reported by the kernel.
struct RegionReport {
    std::size_t mapped_bytes{0};
    std::size_t page_bytes{0};      ///< Size of the mapping's pages; transparent huge pages count in huge_bytes only.
    std::size_t huge_bytes{0};      ///< Bytes in huge pages at present, reserved or transparent.
    std::size_t resident_bytes{0};  ///< Bytes that this process can reach without a page fault's wait for memory.
    std::size_t locked_bytes{0};
    int numa_node{kAnyNode};  ///< The node that holds all resident pages; kAnyNode where several do or none is known.
    std::string shortfall;    ///< Options that could not be honoured, for the log; or empty.
};

/// A Region could not be created as requested. `code` is the system's error; the text names the setting to change.
class RegionError : public std::system_error {
public:
    using std::system_error::system_error;
};

}  // namespace millpond::memory
