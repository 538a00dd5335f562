#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace millpond::memory {

/// Whether a Region uses 2 MiB pages.
enum class HugePages : std::uint8_t {
    none,         ///< Base pages; transparent huge pages are disabled.
    transparent,  ///< Transparent huge pages, else base pages: see RegionReport::shortfall. Uses no reserved pages.
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

/// Default group: the one that the system assigns to files created by this process.
inline constexpr std::uint32_t kOwnGroup = ~std::uint32_t{0};

struct RegionOptions {
    HugePages huge_pages{HugePages::none};
    bool prefault{false};     ///< Make every page present before the factory returns, so that no later access faults.
    bool lock{false};         ///< mlock: pages never leave memory. Implies that they are present.
    int numa_node{kAnyNode};  ///< Bind every page to this node. Not for regular files, which the kernel places.
    bool exclusive{false};    ///< Acquire the owner lock before changing anything (shared, file).
    /// Refuse an object of another user, except root, or with a second name: its owner could truncate it under the
    /// mapping. Implied by `exclusive`.
    bool own{false};
    /// Exact permissions of a created object, whatever the umask. With `exclusive` an existing object gets them too,
    /// and the group.
    std::uint32_t mode{0600};
    std::uint32_t group{kOwnGroup};  ///< Group of the object.
};

/// The memory of a Region, as reported by the kernel.
struct RegionReport {
    std::size_t mapped_bytes{0};
    std::size_t page_bytes{0};      ///< Size of the mapping's pages; transparent huge pages count in huge_bytes only.
    std::size_t huge_bytes{0};      ///< Bytes in huge pages now, reserved or transparent.
    std::size_t resident_bytes{0};  ///< Bytes that are present: accessing them does not wait for memory.
    std::size_t locked_bytes{0};
    int numa_node{kAnyNode};  ///< The node of all resident pages; kAnyNode if there are several or it is unknown.
    std::string shortfall;    ///< Options that could not be honoured, for the log; or empty.
};

/// A Region could not be created as requested. `code` is the system's error; the text names the setting to change.
class RegionError : public std::system_error {
public:
    using std::system_error::system_error;
};

}  // namespace millpond::memory
