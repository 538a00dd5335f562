#include <millpond/fix/store_layout2.hpp>

#include <algorithm>
#include <bit>
#include <limits>

namespace millpond::fix {

std::optional<Layout2Segment> Layout2Segment::open(std::span<const std::byte> memory) noexcept {
    if (memory.size() < kHeaderBytes) return std::nullopt;
    const auto* header = reinterpret_cast<const Header*>(memory.data());
    if (header->magic != kStoreMagic || header->version != kVersion || header->header_bytes != kHeaderBytes ||
        header->data_bytes < StoreSegment::kLeastBytes || header->data_bytes > memory.size() ||
        header->slots != std::bit_ceil(header->data_bytes / kBytesOfASlot) ||
        kHeaderBytes + header->slots * sizeof(Entry) + header->data_bytes > memory.size()) {
        return std::nullopt;
    }
    Layout2Segment segment;
    segment.header_ = header;
    segment.entries_ = reinterpret_cast<const Entry*>(memory.data() + kHeaderBytes);
    segment.data_ = reinterpret_cast<const char*>(memory.data() + kHeaderBytes + header->slots * sizeof(Entry));
    return segment;
}

bool Layout2Segment::is_whole(std::uint64_t slot) const noexcept {
    const auto& entry = entries_[slot];
    const auto bytes = header_->data_bytes;
    return entry.sequence != 0 && (entry.sequence & (header_->slots - 1)) == slot && entry.length <= bytes &&
           entry.position <= header_->claimed_end && entry.length <= header_->claimed_end - entry.position &&
           entry.position % bytes + entry.length <= bytes && entry.position + bytes >= header_->claimed_end;
}

StoreSegment::Extent Layout2Segment::extent() const noexcept {
    StoreSegment::Extent all;
    for (std::uint64_t slot = 0; slot < header_->slots; ++slot) {
        if (!is_whole(slot)) continue;
        const auto& entry = entries_[slot];
        if (all.messages == 0 || entry.sequence < all.first) {
            all.first = entry.sequence;
            all.begin = entry.position;
        }
        all.next = std::max(all.next, entry.sequence + 1);
        all.end = std::max(all.end, entry.position + entry.length);
        ++all.messages;
    }
    return all;
}

std::uint64_t Layout2Segment::next_kept(std::uint64_t sequence) const noexcept {
    if (retrieve(sequence)) return sequence;
    auto lowest = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t slot = 0; slot < header_->slots; ++slot) {
        if (is_whole(slot) && entries_[slot].sequence >= sequence) lowest = std::min(lowest, entries_[slot].sequence);
    }
    return lowest;
}

std::optional<std::string_view> Layout2Segment::retrieve(std::uint64_t sequence) const noexcept {
    const auto slot = sequence & (header_->slots - 1);
    const auto& entry = entries_[slot];
    if (entry.sequence != sequence || !is_whole(slot)) return std::nullopt;
    return std::string_view{data_ + entry.position % header_->data_bytes, entry.length};
}

}  // namespace millpond::fix
