#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <millpond/fix/file_store.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::fix {

/// The file of a segment.
struct FileStore::Link {
    enum class Role : std::uint8_t { fresh, current, left, given_up, spare };

    memory::Region region;
    StoreSegment segment;
    std::size_t number{0};
    bool is_new{false};     // no file was there
    bool is_let_go{false};  // its pages are not kept in memory
    std::atomic<Role> role{Role::fresh};
    // Of the using thread: its contents when another segment became current.
    StoreSegment::Extent extent;
    std::uint64_t forgotten_at{0};  // its messages went with a reset to this number; what was sent before may be unread

    [[nodiscard]] std::uint64_t generation() const noexcept {
        return segment.header->generation.load(std::memory_order_acquire);  // sync "segment current": turn
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return segment.data.size(); }
};

}  // namespace millpond::fix
