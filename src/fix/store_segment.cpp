#include <millpond/fix/store_segment.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

namespace millpond::fix {
namespace {

constexpr std::uint64_t kMaxEnd = std::uint64_t{1} << 62U;  // sums of positions and sizes fit
constexpr std::size_t kBytesOfASlot = 80;                   // record of the shortest possible message

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
    if (data_bytes < kMinBytes) {
        throw std::invalid_argument("a message store of " + std::to_string(data_bytes) + " bytes; the least is " +
                                    std::to_string(kMinBytes));
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
    // Position 0 means no message, so the positions start with the second lap.
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
        header->data_bytes < kMinBytes || header->data_bytes > memory.size() || header->data_bytes % kAlignment != 0 ||
        header->slots != slots_of(header->data_bytes) || memory_bytes(header->data_bytes) > memory.size() ||
        header->identity_bytes > sizeof header->identity || header->claimed_end <= header->data_bytes ||
        header->claimed_end > kMaxEnd) {
        return std::nullopt;
    }
    return placed(memory, header);
}

std::string StoreSegment::other_layout(std::span<const std::byte> memory, const std::string& file) {
    std::uint64_t magic = 0;
    std::uint32_t version = 0;
    if (memory.size() < sizeof magic + sizeof version) return {};
    std::memcpy(&magic, memory.data(), sizeof magic);
    std::memcpy(&version, memory.data() + sizeof magic, sizeof version);
    if (magic != kStoreMagic || version == kStoreVersion) return {};
    return file + " is a message store of layout version " + std::to_string(version) + "; this build reads " +
           std::to_string(kStoreVersion) +
           ": note both numbers (millpond fix store, of the release that wrote it), remove all files of the store, and "
           "set the numbers again (millpond fix sessions set-seq) before the session logs on";
}

/// Whether the record at this position, a multiple of 16, is unchanged since its commit.
bool StoreSegment::is_sound(std::uint64_t position) const noexcept {
    const auto& record = record_at(position);
    const auto sequence = record.sequence.load(std::memory_order_acquire);  // sync "message stored": commit
    if (sequence == 0 || sequence == kStoreVoid || !fits(position)) return false;
    const auto message = message_of(record);
    std::uint32_t crc = 0;
    std::memcpy(&crc, message.data() + message.size(), sizeof crc);
    return crc == crc_of(sequence, position, record.offset, message);
}

std::optional<std::string_view> StoreSegment::retrieve(std::uint64_t sequence) const noexcept {
    const auto* record = find(sequence);
    if (record == nullptr || !is_sound(entry(sequence).load(std::memory_order_relaxed))) return std::nullopt;
    return message_of(*record);
}

bool StoreSegment::is_damaged(std::uint64_t sequence) const noexcept {
    const auto position = entry(sequence).load(std::memory_order_relaxed);
    if (sequence == 0 || !is_kept(position)) return false;
    return record_at(position).sequence.load(std::memory_order_relaxed) != kStoreVoid && !is_sound(position);
}

bool StoreSegment::is_whole(std::uint64_t slot) const noexcept {
    const auto position = index[slot].load(std::memory_order_relaxed);
    if (!is_kept(position)) return false;
    const auto sequence =
        record_at(position).sequence.load(std::memory_order_acquire);  // sync "message stored": commit
    return sequence != 0 && sequence != kStoreVoid && (sequence & slot_mask) == slot && fits(position);
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
        const auto position = index[slot].load(std::memory_order_relaxed);
        if (!is_whole(slot) || !is_sound(position)) continue;
        const auto& record = record_at(position);
        const auto sequence = record.sequence.load(std::memory_order_relaxed);
        if (all.messages == 0 || sequence < all.first) {
            all.first = sequence;
            all.begin = position;
        }
        all.next = std::max(all.next, sequence + 1);
        all.end = std::max(all.end, position + record_bytes(record));
        ++all.messages;
    }
    count_unreadable(all);
    return all;
}

/// Counts unreadable records after the last sound one in the index: their numbers were used and must not be used again.
/// A record without a commit word is only left by a process that died while writing it.
void StoreSegment::count_unreadable(Extent& all) const noexcept {
    const auto end = std::max(all.end, lap_end() - data.size());
    const auto first = std::max(all.next, header->next_sender.load(std::memory_order_relaxed));
    auto next = first;
    std::uint64_t found = 0;
    bool has_word = false;
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        const auto position = index[slot].load(std::memory_order_relaxed);
        if (position < end || !is_kept(position)) continue;
        const auto sequence = record_at(position).sequence.load(std::memory_order_relaxed);
        if (sequence == kStoreVoid) continue;
        ++found;
        has_word = has_word || sequence != 0;
        next = std::max(next, first + ((slot - first) & slot_mask) + 1);
    }
    if (found == 0 || (found == 1 && !has_word)) return;
    all.damaged += found;
    all.next = next;
}

StoreSegment::Extent StoreSegment::sealed_extent() const noexcept {
    Extent all{.first = header->sealed_first.load(std::memory_order_relaxed),
               .next = header->sealed_next.load(std::memory_order_relaxed),
               .messages = header->sealed_messages.load(std::memory_order_relaxed),
               .begin = lap_end() - data.size(),
               .end = header->sealed_end.load(std::memory_order_relaxed)};
    if (all.messages == 0 || all.first >= all.next) return {};
    return all.end >= all.begin && all.end - all.begin <= data.size() ? all : extent();
}

void StoreSegment::seal(const Extent& extent) const noexcept {
    header->sealed_messages.store(0, std::memory_order_relaxed);
    keep_order();
    header->sealed_first.store(extent.first, std::memory_order_relaxed);
    header->sealed_next.store(extent.next, std::memory_order_relaxed);
    header->sealed_end.store(extent.end, std::memory_order_relaxed);
    header->sealed_messages.store(extent.messages, std::memory_order_release);
}

/// The last position in the index; 0 if it is empty.
std::uint64_t StoreSegment::last_named() const noexcept {
    std::uint64_t last = 0;
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        const auto position = index[slot].load(std::memory_order_relaxed);
        if (is_kept(position)) last = std::max(last, position);
    }
    return last;
}

/// The first position after this one, and not after `last`, with a sound record that is in the index; 0 if there is
/// none. Linear in the bytes between.
std::uint64_t StoreSegment::next_sound(std::uint64_t position, std::uint64_t last) const noexcept {
    for (auto next = position + sizeof(StoreRecord); next <= last; next += sizeof(StoreRecord)) {
        const auto sequence = record_at(next).sequence.load(std::memory_order_relaxed);
        if (entry(sequence).load(std::memory_order_relaxed) == next && is_sound(next)) return next;
    }
    return 0;
}

/// Calls visit(position, record) for each record of the lap of the newest claim, including removed ones, and returns
/// the position after them. Damaged records are skipped if a sound one follows.
template <class Visit>
std::uint64_t StoreSegment::for_each_of_lap(Visit&& visit) const noexcept {
    const auto lap = lap_end() - data.size();
    const auto last = last_named();
    auto end = lap;
    while (end + sizeof(StoreRecord) <= lap + data.size()) {
        auto& record = record_at(end);
        const bool is_void = record.sequence.load(std::memory_order_relaxed) == kStoreVoid && fits(end);
        if (!is_void && !is_sound(end)) {
            const auto next = next_sound(end, last);
            if (next == 0) break;
            end = next;
            continue;
        }
        const auto bytes = record_bytes(record);
        visit(end, record);
        end += bytes;
    }
    return end;
}

StoreSegment::Extent StoreSegment::recover() noexcept {
    const auto end = for_each_of_lap([&](std::uint64_t position, const StoreRecord& record) {
        const auto sequence = record.sequence.load(std::memory_order_relaxed);
        if (sequence != kStoreVoid) entry(sequence).store(position, std::memory_order_relaxed);
    });
    header->claimed_end.store(std::max(header->claimed_end.load(std::memory_order_relaxed), end),
                              std::memory_order_relaxed);
    auto all = extent();
    auto& next_sender = header->next_sender;
    next_sender.store(std::max(next_sender.load(std::memory_order_relaxed), all.next), std::memory_order_relaxed);
    for (std::uint64_t slot = 0; slot <= slot_mask; ++slot) {
        const auto position = index[slot].load(std::memory_order_relaxed);
        if (position == 0) continue;
        if (position >= end || !is_kept(position)) {
            index[slot].store(0, std::memory_order_relaxed);
        } else if (!is_sound(position) && record_at(position).sequence.load(std::memory_order_relaxed) != kStoreVoid) {
            ++all.damaged;
        }
    }
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
        const auto position = index[slot].load(std::memory_order_relaxed);
        if (position == 0) continue;
        if (is_whole(slot)) {
            auto& record = record_at(position);
            if (record.sequence.load(std::memory_order_relaxed) < sequence) continue;
            record.sequence.store(kStoreVoid, std::memory_order_relaxed);
        }
        index[slot].store(0, std::memory_order_relaxed);
    }
    // Includes records whose slots newer ones use: `recover` would find them.
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
