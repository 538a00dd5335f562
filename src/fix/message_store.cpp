#include <millpond/fix/message_store.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace millpond::fix {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLeastBytes = 4096;
constexpr std::size_t kBytesOfASlot = 128;  // the shortest message there is takes more than half of it
constexpr unsigned kEvictionsCountedAtOnce = 8;

std::size_t slots_of(std::size_t data_bytes) noexcept { return std::bit_ceil(data_bytes / kBytesOfASlot); }

/// The most bytes of messages whose store fits into `memory`.
std::size_t data_that_fits(std::size_t memory) noexcept {
    auto bytes = memory / kAlignment * kAlignment;
    while (bytes > kLeastBytes && MessageStore::memory_bytes(bytes) > memory) {
        bytes -= std::max(kAlignment, (MessageStore::memory_bytes(bytes) - memory) / 2 / kAlignment * kAlignment);
    }
    return bytes;
}

}  // namespace

std::size_t MessageStore::memory_bytes(std::size_t data_bytes) noexcept {
    return kStoreHeaderBytes + slots_of(data_bytes) * sizeof(StoreEntry) + data_bytes;
}

void MessageStore::place(std::span<std::byte> memory) noexcept {
    slot_mask_ = header_->slots - 1;
    entries_ = std::launder(reinterpret_cast<StoreEntry*>(memory.data() + kStoreHeaderBytes));
    auto* data = memory.data() + kStoreHeaderBytes + header_->slots * sizeof(StoreEntry);
    data_ = {reinterpret_cast<char*>(data), header_->data_bytes};
    unwritten_ = header_->written_end.load(std::memory_order_relaxed);
    claim_ = {};
}

void MessageStore::create(std::span<std::byte> memory, std::size_t data_bytes, std::int64_t utc_ns) noexcept {
    header_ = std::construct_at(reinterpret_cast<StoreHeader*>(memory.data()));
    header_->version = kStoreVersion;
    header_->header_bytes = kStoreHeaderBytes;
    header_->slots = slots_of(data_bytes);
    header_->data_bytes = data_bytes;
    header_->creation_utc_ns = utc_ns;
    std::uninitialized_value_construct_n(reinterpret_cast<StoreEntry*>(memory.data() + kStoreHeaderBytes),
                                         header_->slots);
    place(memory);
    std::atomic_ref{header_->magic}.store(kStoreMagic, std::memory_order_release);  // sync "store made": attach
}

bool MessageStore::attach(std::span<std::byte> memory) noexcept {
    if (memory.size() < kStoreHeaderBytes) return false;
    header_ = std::launder(reinterpret_cast<StoreHeader*>(memory.data()));
    const auto magic = std::atomic_ref{header_->magic}.load(std::memory_order_acquire);  // sync "store made": create
    if (magic != kStoreMagic || header_->version != kStoreVersion || header_->header_bytes != kStoreHeaderBytes ||
        header_->data_bytes < kLeastBytes || header_->data_bytes > memory.size() ||
        header_->slots != slots_of(header_->data_bytes) || memory_bytes(header_->data_bytes) > memory.size()) {
        return false;
    }
    place(memory);
    // The writer may have died between a commit word and the two words behind it.
    auto next = header_->next_sender.load(std::memory_order_relaxed);
    const auto claimed_end = header_->claimed_end.load(std::memory_order_relaxed);
    auto end = unwritten_;
    auto oldest = next;
    for (std::uint64_t slot = 0; slot <= slot_mask_; ++slot) {
        auto& candidate = entries_[slot];
        const auto sequence = candidate.sequence.load(std::memory_order_relaxed);
        const bool sane = sequence != 0 && (sequence & slot_mask_) == slot && candidate.length <= data_.size() &&
                          candidate.position <= claimed_end && candidate.length <= claimed_end - candidate.position;
        if (!sane || !holds(candidate, sequence)) {
            candidate.sequence.store(0, std::memory_order_relaxed);
            continue;
        }
        next = std::max(next, sequence + 1);
        oldest = std::min(oldest, sequence);
        end = std::max(end, candidate.position + candidate.length);
    }
    header_->next_sender.store(next, std::memory_order_relaxed);
    header_->written_end.store(end, std::memory_order_relaxed);
    unwritten_ = end;
    oldest_ = oldest;
    return true;
}

std::span<char> MessageStore::claim(std::size_t bytes) noexcept {
    const auto capacity = data_.size();
    if (bytes == 0 || bytes > capacity / 4) {
        tallies_.refused.add();
        return {};
    }
    auto begin = header_->written_end.load(std::memory_order_relaxed);
    const auto place_of_begin = begin % capacity;
    if (place_of_begin + bytes > capacity) begin += capacity - place_of_begin;  // a message lies in one piece
    const auto end = begin + bytes;
    if (end - unwritten_ > capacity) {
        tallies_.refused.add();
        return {};
    }
    if (end > header_->claimed_end.load(std::memory_order_relaxed)) {
        header_->claimed_end.store(end, std::memory_order_release);  // sync "place given up": attach
        // What a killed process leaves behind is what its instructions did in their order: the compiler must keep it.
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    claim_begin_ = begin;
    claim_ = data_.subspan(begin % capacity, bytes);
    return claim_;
}

std::uint64_t MessageStore::commit(std::string_view message) noexcept {
    const auto sequence = next_sender();
    auto& slot = entry(sequence);
    slot.sequence.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    slot.position = claim_begin_ + static_cast<std::uint64_t>(message.data() - claim_.data());
    slot.length = message.size();
    const auto end = slot.position + slot.length;
    slot.sequence.store(sequence, std::memory_order_release);  // sync "message kept": attach
    header_->written_end.store(end, std::memory_order_release);
    header_->next_sender.store(sequence + 1, std::memory_order_release);
    claim_ = {};
    tallies_.stored.add();
    count_eviction();
    return sequence;
}

bool MessageStore::store(std::string_view message) noexcept {
    const auto room = claim(message.size());
    if (room.empty()) return false;
    std::memcpy(room.data(), message.data(), message.size());
    commit({room.data(), message.size()});
    return true;
}

void MessageStore::count_eviction() noexcept {
    const auto next = next_sender();
    for (unsigned step = 0; step < kEvictionsCountedAtOnce && oldest_ + 1 < next; ++step) {
        if (oldest_ == jump_from_) {
            oldest_ = jump_to_;
            continue;
        }
        if (holds(entry(oldest_), oldest_)) break;
        ++oldest_;
        tallies_.overwritten.add();
    }
    const auto& oldest = entry(oldest_);
    if (!holds(oldest, oldest_)) return;
    const auto used = header_->written_end.load(std::memory_order_relaxed) - oldest.position;
    tallies_.used_bytes.set(used);
    if (used > tallies_.peak_bytes.read()) tallies_.peak_bytes.set(used);
}

bool MessageStore::holds(const StoreEntry& candidate, std::uint64_t sequence) const noexcept {
    return candidate.sequence.load(std::memory_order_relaxed) == sequence &&
           candidate.position + data_.size() >= header_->claimed_end.load(std::memory_order_relaxed);
}

void MessageStore::mark_written(std::uint64_t sequence) noexcept {
    const auto& slot = entry(sequence);
    if (holds(slot, sequence)) unwritten_ = std::max(unwritten_, slot.position + slot.length);
}

std::optional<std::string_view> MessageStore::retrieve(std::uint64_t sequence) const noexcept {
    const auto& slot = entry(sequence);
    if (sequence == 0 || !holds(slot, sequence)) return std::nullopt;
    return std::string_view{data_.data() + slot.position % data_.size(), slot.length};
}

void MessageStore::set_next_sender(std::uint64_t sequence) noexcept {
    for (std::uint64_t slot = 0; slot <= slot_mask_; ++slot) {
        auto& known = entries_[slot].sequence;
        if (known.load(std::memory_order_relaxed) >= sequence) known.store(0, std::memory_order_relaxed);
    }
    const auto next = next_sender();
    if (sequence > next) {
        jump_from_ = next;
        jump_to_ = sequence;
    }
    header_->next_sender.store(sequence, std::memory_order_release);
    oldest_ = std::min(oldest_, sequence);
}

void MessageStore::reset(std::int64_t utc_ns) noexcept {
    abandon();
    set_next_sender(1);
    set_next_target(1);
    header_->creation_utc_ns = utc_ns;
    unwritten_ = header_->written_end.load(std::memory_order_relaxed);
    oldest_ = 1;
    jump_from_ = 0;
    tallies_.used_bytes.set(0);
    tallies_.resets.add();
}

MemoryStore::MemoryStore(std::int64_t utc_ns, std::size_t data_bytes, std::pmr::memory_resource* memory)
    : resource_(memory) {
    data_bytes = data_bytes / kAlignment * kAlignment;
    if (data_bytes < kLeastBytes) {
        throw std::invalid_argument("a message store of " + std::to_string(data_bytes) + " bytes; the least is " +
                                    std::to_string(kLeastBytes));
    }
    const auto bytes = memory_bytes(data_bytes);
    memory_ = {static_cast<std::byte*>(memory->allocate(bytes, kAlignment)), bytes};
    std::memset(memory_.data(), 0, bytes);
    create(memory_, data_bytes, utc_ns);
}

MemoryStore::MemoryStore(std::int64_t utc_ns, std::span<std::byte> memory) : memory_(memory) {
    const auto data_bytes = data_that_fits(memory.size());
    if (memory_bytes(data_bytes) > memory.size() || data_bytes < kLeastBytes) {
        throw std::invalid_argument("memory of " + std::to_string(memory.size()) + " bytes is too little for a store");
    }
    if (reinterpret_cast<std::uintptr_t>(memory.data()) % kAlignment != 0) {
        throw std::invalid_argument("the memory of a store must be aligned to 64 bytes");
    }
    std::memset(memory_.data(), 0, memory_.size());
    create(memory_, data_bytes, utc_ns);
}

MemoryStore::~MemoryStore() {
    if (resource_ != nullptr) resource_->deallocate(memory_.data(), memory_.size(), kAlignment);
}

}  // namespace millpond::fix
