#include <millpond/fix/store_segment.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

namespace millpond::fix {
namespace {

constexpr std::size_t kBytesOfASlot = 80;  // of the record of the shortest message there is

std::size_t slots_of(std::size_t data_bytes) noexcept { return std::bit_ceil(data_bytes / kBytesOfASlot); }

StoreSegment placed(std::span<std::byte> memory, StoreHeader* header) noexcept {
    auto* index = std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data() + kStoreHeaderBytes));
    auto* data = memory.data() + kStoreHeaderBytes + header->slots * sizeof *index;
    return {.header = header,
            .index = index,
            .slot_mask = header->slots - 1,
            .data = {reinterpret_cast<char*>(data), header->data_bytes}};
}

/// A killed process leaves the result of its instructions in program order: the compiler must not reorder them.
void keep_order() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace

std::size_t StoreSegment::memory_bytes(std::size_t data_bytes) noexcept {
    return kStoreHeaderBytes + slots_of(data_bytes) * sizeof(*index) + data_bytes;
}

std::size_t StoreSegment::checked_bytes(std::size_t data_bytes) {
    if (data_bytes < kLeastBytes) {
        throw std::invalid_argument("a message store of " + std::to_string(data_bytes) + " bytes; the least is " +
                                    std::to_string(kLeastBytes));
    }
    return data_bytes / kAlignment * kAlignment;
}

StoreSegment StoreSegment::create(std::span<std::byte> memory, std::size_t data_bytes,
                                  std::int64_t creation_utc_ns) noexcept {
    auto* header = std::construct_at(reinterpret_cast<StoreHeader*>(memory.data()));
    header->version = kStoreVersion;
    header->header_bytes = kStoreHeaderBytes;
    header->slots = slots_of(data_bytes);
    header->data_bytes = data_bytes;
    header->creation_utc_ns = creation_utc_ns;
    // Position 0 means no message, so the first lap is the second.
    header->claimed_end.store(data_bytes + sizeof(StoreRecord), std::memory_order_relaxed);
    std::uninitialized_value_construct_n(
        reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data() + kStoreHeaderBytes), header->slots);
    std::atomic_ref{header->magic}.store(kStoreMagic, std::memory_order_release);  // sync "segment made": open
    return placed(memory, header);
}

std::optional<StoreSegment> StoreSegment::open(std::span<std::byte> memory) noexcept {
    if (memory.size() < kStoreHeaderBytes) return std::nullopt;
    auto* header = std::launder(reinterpret_cast<StoreHeader*>(memory.data()));
    const auto magic = std::atomic_ref{header->magic}.load(std::memory_order_acquire);  // sync "segment made": create
    if (magic != kStoreMagic || header->version != kStoreVersion || header->header_bytes != kStoreHeaderBytes ||
        header->data_bytes < kLeastBytes || header->data_bytes > memory.size() ||
        header->data_bytes % kAlignment != 0 || header->slots != slots_of(header->data_bytes) ||
        memory_bytes(header->data_bytes) > memory.size() || header->identity_bytes > sizeof header->identity) {
        return std::nullopt;
    }
    return placed(memory, header);
}

bool StoreSegment::is_whole(std::uint64_t slot) const noexcept {
    const auto position = index[slot].load(std::memory_order_relaxed);
    const auto claimed_end = header->claimed_end.load(std::memory_order_relaxed);
    if (position == 0 || position % sizeof(StoreRecord) != 0 || position >= claimed_end ||
        claimed_end - position > data.size()) {
        return false;
    }
    const auto& record = record_at(position);
    const auto sequence = record.sequence.load(std::memory_order_acquire);  // sync "message kept": commit
    const auto bytes = record_bytes(std::uint64_t{record.offset} + record.length);
    return sequence != 0 && sequence != kStoreVoid && (sequence & slot_mask) == slot &&
           position % data.size() + bytes <= data.size() && position + bytes <= claimed_end;
}

std::uint64_t StoreSegment::next_kept(std::uint64_t sequence) const noexcept {
    if (find(sequence) != nullptr) return sequence;
    auto lowest = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        if (!is_whole(slot)) continue;
        const auto kept =
            record_at(index[slot].load(std::memory_order_relaxed)).sequence.load(std::memory_order_relaxed);
        if (kept >= sequence) lowest = std::min(lowest, kept);
    }
    return lowest;
}

StoreSegment::Extent StoreSegment::extent() const noexcept {
    Extent all;
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        if (!is_whole(slot)) continue;
        const auto position = index[slot].load(std::memory_order_relaxed);
        const auto& record = record_at(position);
        const auto sequence = record.sequence.load(std::memory_order_relaxed);
        if (all.messages == 0 || sequence < all.first) {
            all.first = sequence;
            all.begin = position;
        }
        all.next = std::max(all.next, sequence + 1);
        all.end = std::max(all.end, position + record_bytes(std::uint64_t{record.offset} + record.length));
        ++all.messages;
    }
    return all;
}

StoreSegment::Extent StoreSegment::sealed_extent() const noexcept {
    Extent all{.first = header->sealed_first.load(std::memory_order_relaxed),
               .next = header->sealed_next.load(std::memory_order_relaxed),
               .messages = header->sealed_messages.load(std::memory_order_relaxed),
               .begin = lap_end() - data.size(),
               .end = header->sealed_end.load(std::memory_order_relaxed)};
    return all.messages == 0 || all.first >= all.next ? Extent{} : all;
}

void StoreSegment::seal(const Extent& extent) const noexcept {
    header->sealed_messages.store(0, std::memory_order_relaxed);
    keep_order();
    header->sealed_first.store(extent.first, std::memory_order_relaxed);
    header->sealed_next.store(extent.next, std::memory_order_relaxed);
    header->sealed_end.store(extent.end, std::memory_order_relaxed);
    header->sealed_messages.store(extent.messages, std::memory_order_release);
}

/// Calls visit(position, record) for each record of the lap in which the newest claim lies; gives the position behind
/// them.
template <class Visit>
std::uint64_t StoreSegment::for_each_of_lap(Visit&& visit) const noexcept {
    const auto lap = lap_end() - data.size();
    auto end = lap;
    while (end + sizeof(StoreRecord) <= lap + data.size()) {
        auto& record = record_at(end);
        const auto bytes = record_bytes(std::uint64_t{record.offset} + record.length);
        if (record.sequence.load(std::memory_order_relaxed) == 0 || bytes > lap + data.size() - end) break;
        visit(end, record);
        end += bytes;
    }
    return end;
}

StoreSegment::Extent StoreSegment::recover() noexcept {
    const auto lap = lap_end() - data.size();
    // The index has what is left of the previous lap.
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        const bool before = index[slot].load(std::memory_order_relaxed) < lap;
        if (!before || !is_whole(slot)) index[slot].store(0, std::memory_order_relaxed);
    }
    const auto end = for_each_of_lap([&](std::uint64_t position, const StoreRecord& record) {
        const auto sequence = record.sequence.load(std::memory_order_relaxed);
        if (sequence != kStoreVoid) entry(sequence).store(position, std::memory_order_relaxed);
    });
    header->claimed_end.store(std::max(header->claimed_end.load(std::memory_order_relaxed), end),
                              std::memory_order_relaxed);
    auto all = extent();
    all.end = end;
    return all;
}

void StoreSegment::remember_skip(std::uint64_t first, std::uint64_t next) const noexcept {
    auto& newest = header->skips[kStoreSkips - 1];
    if (newest.next == first && newest.first < newest.next) {
        newest.next = next;
        return;
    }
    std::ranges::copy(std::span{header->skips}.subspan(1), header->skips);
    newest = {first, next};
}

void StoreSegment::forget_skips_from(std::uint64_t sequence) const noexcept {
    for (auto& skip : header->skips) skip.next = std::min(skip.next, sequence);
}

std::uint64_t StoreSegment::skipped(std::uint64_t first, std::uint64_t next) const noexcept {
    std::uint64_t all = 0;
    for (const auto& skip : header->skips) {
        const auto from = std::max(first, skip.first);
        const auto to = std::min(next, skip.next);
        if (from < to) all += to - from;
    }
    return all;
}

void StoreSegment::forget_from(std::uint64_t sequence) const noexcept {
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        if (!is_whole(slot)) continue;
        auto& record = record_at(index[slot].load(std::memory_order_relaxed));
        if (record.sequence.load(std::memory_order_relaxed) < sequence) continue;
        record.sequence.store(kStoreVoid, std::memory_order_relaxed);
        index[slot].store(0, std::memory_order_relaxed);
    }
    // Also those whose slots newer ones use: `recover` would find them.
    for_each_of_lap([&](std::uint64_t, StoreRecord& record) {
        if (record.sequence.load(std::memory_order_relaxed) < sequence) return;
        record.sequence.store(kStoreVoid, std::memory_order_relaxed);
    });
}

std::uint64_t StoreSegment::give_up() const noexcept {
    const auto begin = lap_end();
    seal({});
    keep_order();
    header->claimed_end.store(begin + data.size(), std::memory_order_release);  // sync "place given up": is_whole
    keep_order();
    record_at(begin).sequence.store(0, std::memory_order_relaxed);
    keep_order();
    return begin;
}

std::uint64_t StoreSegment::lap_end() const noexcept {
    return (header->claimed_end.load(std::memory_order_relaxed) + data.size() - 1) / data.size() * data.size();
}

}  // namespace millpond::fix
