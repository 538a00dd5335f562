#include <millpond/fix/message_store.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace millpond::fix {
namespace {

constexpr auto kAlignment = StoreSegment::kAlignment;
constexpr auto kLeastBytes = StoreSegment::kLeastBytes;
constexpr unsigned kEvictionsCountedAtOnce = 8;

/// The most bytes of messages whose store fits into `memory`.
std::size_t data_that_fits(std::size_t memory) noexcept {
    auto bytes = memory / kAlignment * kAlignment;
    while (bytes > kLeastBytes && MessageStore::memory_bytes(bytes) > memory) {
        bytes -= std::max(kAlignment, (MessageStore::memory_bytes(bytes) - memory) / 2 / kAlignment * kAlignment);
    }
    return bytes;
}

}  // namespace

void MessageStore::use(const StoreSegment& segment, std::uint64_t oldest) noexcept {
    current_ = segment;
    claim_ = {};
    lap_end_ = segment.lap_end();
    unwritten_ = segment.header->written_end.load(std::memory_order_relaxed);
    oldest_ = oldest;
    jump_from_ = 0;
}

std::span<char> MessageStore::claim(std::size_t bytes) noexcept {
    const auto refuse = [this]() -> std::span<char> {
        tallies_.refused.add();
        return {};
    };
    const auto capacity = current_.data.size();
    if (bytes == 0 || bytes > capacity / 4) return refuse();
    auto begin = current_.header->written_end.load(std::memory_order_relaxed);
    if (begin + bytes > lap_end_) [[unlikely]] {
        // A message lies in one piece.
        const auto turned = turn();
        if (turned == Turn::refused) return refuse();
        begin = turned == Turn::wrap ? lap_end_ : current_.header->written_end.load(std::memory_order_relaxed);
    }
    const auto end = begin + bytes;
    if (end - unwritten_ > capacity) return refuse();
    if (end > current_.header->claimed_end.load(std::memory_order_relaxed)) {
        current_.header->claimed_end.store(end, std::memory_order_release);  // sync "place given up": is_whole
        // What a killed process leaves behind is what its instructions did in their order: the compiler must keep it.
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    claim_begin_ = begin;
    claim_ = current_.data.subspan(begin == lap_end_ ? 0 : begin + capacity - lap_end_, bytes);
    return claim_;
}

std::uint64_t MessageStore::commit(std::string_view message) noexcept {
    auto& header = *current_.header;
    const auto sequence = next_sender();
    auto& slot = current_.entry(sequence);
    slot.sequence.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    slot.position = claim_begin_ + static_cast<std::uint64_t>(message.data() - claim_.data());
    slot.length = message.size();
    const auto end = slot.position + slot.length;
    slot.sequence.store(sequence, std::memory_order_release);  // sync "message kept": is_whole
    header.written_end.store(end, std::memory_order_release);
    header.next_sender.store(sequence + 1, std::memory_order_release);
    if (claim_begin_ == lap_end_) lap_end_ += current_.data.size();
    claim_ = {};
    fetch_ahead(message.data() + message.size(), sequence);
    tallies_.stored.add();
    count_eviction();
    return sequence;
}

/// Asks for the memory of the messages that come next before they come; at worst it is not needed.
inline void MessageStore::fetch_ahead(const char* end, std::uint64_t sequence) const noexcept {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kAhead = 256;
    constexpr std::size_t kLines = 4;
    for (std::size_t line = 0; line < kLines; ++line) __builtin_prefetch(end + kAhead + line * kLine, 1);
    __builtin_prefetch(&current_.entry(sequence + 8), 1);
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
        if (current_.holds(current_.entry(oldest_), oldest_)) break;
        ++oldest_;
        tallies_.overwritten.add();
    }
    const auto& oldest = current_.entry(oldest_);
    if (!current_.holds(oldest, oldest_)) return;
    const auto used = elsewhere_bytes_ + current_.header->written_end.load(std::memory_order_relaxed) - oldest.position;
    tallies_.used_bytes.set(used);
    if (used > tallies_.peak_bytes.read()) tallies_.peak_bytes.set(used);
}

void MessageStore::mark_written(std::uint64_t sequence) noexcept {
    written_to_ = std::max(written_to_, sequence);
    const auto& slot = current_.entry(sequence);
    if (current_.holds(slot, sequence)) unwritten_ = std::max(unwritten_, slot.position + slot.length);
}

void MessageStore::set_next_sender(std::uint64_t sequence) noexcept {
    forget_elsewhere(sequence);
    current_.forget_from(sequence);
    const auto next = next_sender();
    if (sequence > next) {
        jump_from_ = next;
        jump_to_ = sequence;
    }
    current_.header->next_sender.store(sequence, std::memory_order_release);
    oldest_ = std::min(oldest_, sequence);
    written_to_ = std::min(written_to_, sequence - 1);
}

void MessageStore::reset(std::int64_t utc_ns) noexcept {
    abandon();
    set_next_sender(1);
    set_next_target(1);
    current_.header->creation_utc_ns = utc_ns;
    unwritten_ = current_.header->written_end.load(std::memory_order_relaxed);
    oldest_ = 1;
    jump_from_ = 0;
    elsewhere_bytes_ = 0;
    tallies_.used_bytes.set(0);
    tallies_.resets.add();
}

MemoryStore::MemoryStore(std::int64_t utc_ns, std::size_t data_bytes, std::pmr::memory_resource* memory)
    : resource_(memory) {
    data_bytes = StoreSegment::checked_bytes(data_bytes);
    const auto bytes = memory_bytes(data_bytes);
    memory_ = {static_cast<std::byte*>(memory->allocate(bytes, kAlignment)), bytes};
    std::memset(memory_.data(), 0, bytes);
    use(StoreSegment::create(memory_, data_bytes, utc_ns), 1);
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
    use(StoreSegment::create(memory_, data_bytes, utc_ns), 1);
}

MemoryStore::~MemoryStore() {
    if (resource_ != nullptr) resource_->deallocate(memory_.data(), memory_.size(), kAlignment);
}

}  // namespace millpond::fix
