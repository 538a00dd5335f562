#include "present_window.hpp"

#include <algorithm>

#include <millpond/memory/residency.hpp>

namespace millpond::fix {
namespace {

constexpr std::uint64_t kFast = PresentWindow::kAhead / 4;  // bytes from one call to the next
constexpr std::uint64_t kStep = 4096;                       // bytes by which it grows, at least
constexpr std::uint64_t kNumbersAhead = PresentWindow::kAhead / 80;
constexpr std::uint64_t kNumbersStep = 64;

/// Makes [from, to) of a ring present.
void present_ring(std::span<std::byte> memory, std::span<const std::byte> ring, std::uint64_t from, std::uint64_t to) {
    to = std::min<std::uint64_t>(to, from + ring.size());
    const auto first = from % ring.size();
    const auto count = std::min<std::uint64_t>(to - from, ring.size() - first);
    memory::make_part_present(memory, ring.subspan(first, count));
    if (count < to - from) memory::make_part_present(memory, ring.first(to - from - count));
}

}  // namespace

void PresentWindow::follow(std::span<std::byte> memory, const StoreSegment& segment, std::uint64_t end,
                           std::uint64_t number) {
    const auto lap_end = segment.lap_end();
    if (all_ || end > lap_end || end + segment.data.size() < lap_end) return;
    if (seen_end_ != 0 && end > seen_end_ + kFast) {
        make_all_present(memory, true);
        return;
    }
    if (end + kAhead - kStep > data_end_) {
        present_ring(memory, std::as_bytes(segment.data), std::max(data_end_, end), end + kAhead);
        data_end_ = end + kAhead;
    }
    const std::span slots{segment.index, segment.slot_mask + 1};
    const bool is_reset = number + kNumbersAhead < number_end_;
    if (seen_end_ == 0 || is_reset || number + kNumbersAhead - kNumbersStep > number_end_) {
        present_ring(memory, std::as_bytes(slots), number * sizeof slots[0],
                     (number + kNumbersAhead) * sizeof slots[0]);
        number_end_ = number + kNumbersAhead;
    }
    seen_end_ = end;
}

void PresentWindow::make_all_present(std::span<std::byte> memory, bool writable) {
    if (all_) return;
    memory::make_present(memory, writable);
    all_ = true;
}

void PresentWindow::give_back(std::span<std::byte> memory) noexcept {
    memory::drop_pages(memory.subspan(memory::pages_end(memory, 1)));
    *this = {};
}

}  // namespace millpond::fix
