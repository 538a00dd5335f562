#include <millpond/fix/store_segment.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace millpond::fix {
namespace {

constexpr std::size_t kBytesOfASlot = 128;  // the shortest message there is takes more than half of it

std::size_t slots_of(std::size_t data_bytes) noexcept { return std::bit_ceil(data_bytes / kBytesOfASlot); }

StoreSegment placed(std::span<std::byte> memory, StoreHeader* header) noexcept {
    auto* entries = std::launder(reinterpret_cast<StoreEntry*>(memory.data() + kStoreHeaderBytes));
    auto* data = memory.data() + kStoreHeaderBytes + header->slots * sizeof(StoreEntry);
    return {.header = header,
            .entries = entries,
            .slot_mask = header->slots - 1,
            .data = {reinterpret_cast<char*>(data), header->data_bytes}};
}

}  // namespace

std::size_t StoreSegment::memory_bytes(std::size_t data_bytes) noexcept {
    return kStoreHeaderBytes + slots_of(data_bytes) * sizeof(StoreEntry) + data_bytes;
}

std::size_t StoreSegment::checked_bytes(std::size_t data_bytes) {
    if (data_bytes < kLeastBytes) {
        throw std::invalid_argument("a message store of " + std::to_string(data_bytes) + " bytes; the least is " +
                                    std::to_string(kLeastBytes));
    }
    return data_bytes / kAlignment * kAlignment;
}

StoreSegment StoreSegment::create(std::span<std::byte> memory, std::size_t data_bytes, std::int64_t utc_ns) noexcept {
    auto* header = std::construct_at(reinterpret_cast<StoreHeader*>(memory.data()));
    header->version = kStoreVersion;
    header->header_bytes = kStoreHeaderBytes;
    header->slots = slots_of(data_bytes);
    header->data_bytes = data_bytes;
    header->creation_utc_ns = utc_ns;
    std::uninitialized_value_construct_n(reinterpret_cast<StoreEntry*>(memory.data() + kStoreHeaderBytes),
                                         header->slots);
    std::atomic_ref{header->magic}.store(kStoreMagic, std::memory_order_release);  // sync "segment made": open
    return placed(memory, header);
}

std::optional<StoreSegment> StoreSegment::open(std::span<std::byte> memory) noexcept {
    if (memory.size() < kStoreHeaderBytes) return std::nullopt;
    auto* header = std::launder(reinterpret_cast<StoreHeader*>(memory.data()));
    const auto magic = std::atomic_ref{header->magic}.load(std::memory_order_acquire);  // sync "segment made": create
    if (magic != kStoreMagic || header->version != kStoreVersion || header->header_bytes != kStoreHeaderBytes ||
        header->data_bytes < kLeastBytes || header->data_bytes > memory.size() ||
        header->slots != slots_of(header->data_bytes) || memory_bytes(header->data_bytes) > memory.size()) {
        return std::nullopt;
    }
    return placed(memory, header);
}

bool StoreSegment::is_whole(std::uint64_t slot) const noexcept {
    const auto& candidate = entries[slot];
    const auto sequence = candidate.sequence.load(std::memory_order_acquire);  // sync "message kept": commit
    const auto claimed_end = header->claimed_end.load(std::memory_order_relaxed);
    return sequence != 0 && (sequence & slot_mask) == slot && candidate.length <= data.size() &&
           candidate.position <= claimed_end && candidate.length <= claimed_end - candidate.position &&
           candidate.position % data.size() + candidate.length <= data.size() && holds(candidate, sequence);
}

StoreSegment::Extent StoreSegment::extent() const noexcept {
    Extent all;
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        if (!is_whole(slot)) continue;
        const auto& whole = entries[slot];
        const auto sequence = whole.sequence.load(std::memory_order_relaxed);
        if (all.messages == 0 || sequence < all.first) {
            all.first = sequence;
            all.begin = whole.position;
        }
        all.next = std::max(all.next, sequence + 1);
        all.end = std::max(all.end, whole.position + whole.length);
        ++all.messages;
    }
    return all;
}

StoreSegment::Extent StoreSegment::recover() noexcept {
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        if (!is_whole(slot)) entries[slot].sequence.store(0, std::memory_order_relaxed);
    }
    const auto all = extent();
    // The writer may have died between a commit word and the two words behind it, or with a claim on a new lap.
    const auto written_end = header->written_end.load(std::memory_order_relaxed);
    header->written_end.store(std::max({written_end, all.end, lap_end() - data.size()}), std::memory_order_relaxed);
    return all;
}

void StoreSegment::forget_from(std::uint64_t sequence) noexcept {
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        auto& known = entries[slot].sequence;
        if (known.load(std::memory_order_relaxed) >= sequence) known.store(0, std::memory_order_relaxed);
    }
}

void StoreSegment::begin_anew() noexcept {
    const auto begin =
        (header->written_end.load(std::memory_order_relaxed) + data.size() - 1) / data.size() * data.size();
    header->claimed_end.store(begin + data.size(), std::memory_order_release);  // sync "place given up": is_whole
    // What a killed process leaves behind is what its instructions did in their order: the compiler must keep it.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    header->written_end.store(begin, std::memory_order_release);
}

std::uint64_t StoreSegment::lap_end() const noexcept {
    const auto claimed_end = std::max<std::uint64_t>(header->claimed_end.load(std::memory_order_relaxed), 1);
    return (claimed_end + data.size() - 1) / data.size() * data.size();
}

}  // namespace millpond::fix
