#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <millpond/fix/file_store.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::fix {

/// A segment and its file.
struct FileStore::Link {
    enum class Role : std::uint8_t { fresh, current, left, given_up, spare };

    memory::Region region;
    StoreSegment segment;
    std::size_t number{0};
    bool is_new{false};       // the file did not exist before
    bool is_unmapped{false};  // its pages were unmapped
    std::atomic<Role> role{Role::fresh};
    // Used by the using thread: contents when another segment became current.
    StoreSegment::Extent extent;
    std::uint64_t forgotten_at{0};  // number to which a reset removed its messages; earlier ones may still be unsent

    [[nodiscard]] std::uint64_t generation() const noexcept {
        return segment.header->generation.load(std::memory_order_acquire);  // sync "segment current": turn
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return segment.data.size(); }
};

}  // namespace millpond::fix
