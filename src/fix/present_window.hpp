#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/fix/store_segment.hpp>

namespace millpond::fix {

/// Keeps the memory present that a segment's next messages use, while another thread writes them.
///
/// Threads: one, which maintains the store. Memory: none.
class PresentWindow {
public:
    /// Bytes ahead of the newest message that are present while few messages are sent.
    static constexpr std::size_t kAhead = std::size_t{64} * 1024;

    /// Makes more present if the messages come near the end of what is, and everything if they come fast. memory: the
    /// segment's pages. end: position of the next record; ignored if it is not in the segment's current lap. number:
    /// the next number. Throws memory::RegionError if memory is short.
    void follow(std::span<std::byte> memory, const StoreSegment& segment, std::uint64_t end, std::uint64_t number);
    /// Makes all of it present, for reading or also for writing. Throws like follow.
    void make_all_present(std::span<std::byte> memory, bool writable);
    /// Returns all pages but the first, the header's, to the kernel. Only for files.
    void give_back(std::span<std::byte> memory) noexcept;

private:
    bool all_{false};
    std::uint64_t seen_end_{0};    // `end` of the last call; 0: there was none
    std::uint64_t data_end_{0};    // position to which the data is present
    std::uint64_t number_end_{0};  // number to which the index is present
};

}  // namespace millpond::fix
