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
constexpr std::size_t kMostClaimedAhead = 4096;
constexpr std::size_t kPartClaimedAhead = 64;  // of the store, where that is less
constexpr std::size_t kMostSpare = 4;          // messages
constexpr std::size_t kPartSpare = 4;          // of the store, where that is less
constexpr std::size_t kAhead = 256;            // bytes behind a message that are asked for

/// A killed process leaves the result of its instructions in program order: the compiler must not reorder them.
void keep_order() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Largest size of messages whose store fits into `memory`.
std::size_t data_that_fits(std::size_t memory) noexcept {
    auto bytes = memory / kAlignment * kAlignment;
    while (bytes > kLeastBytes && MessageStore::memory_bytes(bytes) > memory) {
        bytes -= std::max(kAlignment, (MessageStore::memory_bytes(bytes) - memory) / 2 / kAlignment * kAlignment);
    }
    return bytes;
}

}  // namespace

void MessageStore::use(const StoreSegment& segment, const Start& start) noexcept {
    current_ = segment;
    claim_ = {};
    written_end_ = start.end;
    next_sender_ = start.next;
    claimed_end_ = segment.header->claimed_end.load(std::memory_order_relaxed);
    lap_end_ = segment.lap_end();
    unwritten_ = start.end;
    oldest_ = start.oldest;
    oldest_begin_ = 0;
    jump_from_ = 0;
}

std::span<char> MessageStore::claim(std::size_t bytes) noexcept {
    const auto refuse = [this]() -> std::span<char> {
        counters_.refused.add();
        return {};
    };
    auto capacity = current_.data.size();
    if (bytes == 0 || bytes > capacity / 4 || bytes > kMostMessageBytes) return refuse();
    const auto record_bytes = StoreSegment::record_bytes(bytes);
    constexpr auto kEndMark = sizeof(StoreRecord);  // after the message
    auto begin = written_end_;
    auto end = begin + record_bytes + kEndMark;
    if (end > lap_end_) [[unlikely]] {
        // A message is contiguous. At the end of a lap there is no room for the mark until the socket has accepted the
        // oldest.
        if (end - kEndMark > lap_end_ || end - unwritten_ > capacity) {
            const auto turned = turn();
            if (turned == Turn::refused) return refuse();
            begin = turned == Turn::wrap ? lap_end_ : written_end_;
            end = begin + record_bytes + kEndMark;
            capacity = current_.data.size();  // of another segment, maybe
        }
    }
    if (end - unwritten_ > capacity) return refuse();
    if (end > claimed_end_) [[unlikely]]
        raise_claimed_end(begin, end);
    auto* const place = current_.data.data() + (begin == lap_end_ ? 0 : begin + capacity - lap_end_);
    reinterpret_cast<StoreRecord*>(place)->sequence.store(0, std::memory_order_relaxed);
    keep_order();
    claim_begin_ = begin;
    claim_ = {place + sizeof(StoreRecord), bytes};
    return claim_;
}

std::span<char> MessageStore::claim_with_spare(std::size_t bytes) noexcept {
    if (has_spare(bytes)) return claim(bytes);
    counters_.refused.add();
    return {};
}

/// Whether `claim` would grant this and a few more like it, one after the other. Shorter ones end earlier, so the rest
/// of them is granted too.
bool MessageStore::has_spare(std::size_t bytes) const noexcept {
    const auto capacity = current_.data.size();
    if (bytes == 0 || bytes > capacity / 4) return false;
    const auto spare = std::clamp<std::size_t>(capacity / bytes / kPartSpare, 1, kMostSpare);
    const auto record_bytes = StoreSegment::record_bytes(bytes);
    auto end = written_end_;
    auto lap_end = lap_end_;
    for (std::size_t i = 0; i <= spare; ++i) {
        const auto marked = end + record_bytes + sizeof(StoreRecord);
        if (end + record_bytes > lap_end || (marked > lap_end && marked - unwritten_ > capacity)) {
            const auto turned = next_turn();
            if (turned != Turn::wrap) return turned == Turn::moved;  // to a whole segment
            end = lap_end;
            lap_end += capacity;
        }
        end += record_bytes;
        if (end + sizeof(StoreRecord) - unwritten_ > capacity) return false;
    }
    return true;
}

/// By more than is needed now, so that few claims get here.
void MessageStore::raise_claimed_end(std::uint64_t begin, std::uint64_t end) noexcept {
    const auto capacity = current_.data.size();
    const auto lap_end = begin == lap_end_ ? lap_end_ + capacity : lap_end_;
    const auto ahead = std::min<std::uint64_t>(kMostClaimedAhead, capacity / kPartClaimedAhead);
    const auto wanted = std::max(end, std::min(end + ahead, unwritten_ + capacity));
    claimed_end_ = std::max(claimed_end_, std::min(wanted, lap_end));
    current_.header->claimed_end.store(claimed_end_, std::memory_order_release);  // sync "place given up": is_whole
    keep_order();
}

std::uint64_t MessageStore::commit(std::string_view message) noexcept {
    const auto sequence = next_sender_;
    auto* const record = reinterpret_cast<StoreRecord*>(claim_.data() - sizeof(StoreRecord));
    const auto offset = static_cast<std::uint64_t>(message.data() - claim_.data());
    const auto bytes = StoreSegment::record_bytes(offset + message.size());
    if (claim_begin_ == lap_end_) lap_end_ += current_.data.size();
    written_end_ = claim_begin_ + bytes;
    if (written_end_ < lap_end_) {
        auto* const behind = reinterpret_cast<StoreRecord*>(reinterpret_cast<char*>(record) + bytes);
        behind->sequence.store(0, std::memory_order_relaxed);
    }
    record->length = static_cast<std::uint32_t>(message.size());
    record->offset = static_cast<std::uint32_t>(offset);
    current_.entry(sequence).store(claim_begin_, std::memory_order_relaxed);
    record->sequence.store(sequence, std::memory_order_release);  // sync "message kept": is_whole
    next_sender_ = sequence + 1;
    claim_ = {};
    fetch_ahead(message.data() + message.size(), sequence);
    counters_.stored.add();
    count_eviction();
    return sequence;
}

/// Prefetches the memory of the next messages; at worst it is not needed.
inline void MessageStore::fetch_ahead(const char* end, std::uint64_t sequence) const noexcept {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kLines = 4;
    for (std::size_t line = 0; line < kLines; ++line) __builtin_prefetch(end + kAhead + line * kLine, 1);
    __builtin_prefetch(&current_.entry(sequence + 8), 1);
}

void MessageStore::warm_up() const noexcept {
    const auto& data = current_.data;
    const auto place = static_cast<std::size_t>(written_end_ == lap_end_ ? 0 : written_end_ + data.size() - lap_end_);
    // A load also brings the translation of the page, which a prefetch may omit.
    static_cast<void>(
        reinterpret_cast<const StoreRecord*>(data.data() + place)->sequence.load(std::memory_order_relaxed));
    fetch_ahead(data.data() + place - std::min<std::size_t>(place, kAhead), next_sender_);
    fetch_ahead(data.data() + place, next_sender_);
}

bool MessageStore::store(std::string_view message) noexcept {
    const auto room = claim(message.size());
    if (room.empty()) return false;
    std::memcpy(room.data(), message.data(), message.size());
    commit({room.data(), message.size()});
    return true;
}

/// 0 if the message is not there. Rarely reads its record.
inline std::uint64_t MessageStore::kept_position(std::uint64_t sequence) const noexcept {
    const auto position = current_.entry(sequence).load(std::memory_order_relaxed);
    if (position + current_.data.size() < claimed_end_) return 0;
    // Only then may a newer message use the slot.
    if (next_sender_ - sequence > current_.slot_mask + 1 && current_.find(sequence) == nullptr) return 0;
    return position;
}

void MessageStore::count_eviction() noexcept {
    // Only then may the oldest message be overwritten.
    const bool may_be_gone = oldest_begin_ == 0 || oldest_begin_ + current_.data.size() < claimed_end_ ||
                             next_sender_ - oldest_ > current_.slot_mask + 1;
    if (may_be_gone) find_oldest();
    if (oldest_begin_ == 0) return;
    const auto used = elsewhere_bytes_ + written_end_ - oldest_begin_;
    counters_.used_bytes.set(used);
    if (used > counters_.peak_bytes.read()) counters_.peak_bytes.set(used);
}

/// Counts what was evicted before the oldest message that is there; of many, a few at a time.
void MessageStore::find_oldest() noexcept {
    for (unsigned step = 0; step < kEvictionsCountedAtOnce && oldest_ + 1 < next_sender_; ++step) {
        if (oldest_ == jump_from_) {
            oldest_ = jump_to_;
            continue;
        }
        if (kept_position(oldest_) != 0) break;
        ++oldest_;
        counters_.overwritten.add();
    }
    oldest_begin_ = oldest_ == jump_from_ ? 0 : kept_position(oldest_);
}

std::uint64_t MessageStore::next_kept(std::uint64_t sequence) const noexcept {
    return std::min({current_.next_kept(sequence), next_kept_elsewhere(sequence), next_sender_});
}

void MessageStore::mark_written(std::uint64_t sequence) noexcept {
    written_to_ = std::max(written_to_, sequence);
    if (sequence + 1 == next_sender_) {
        unwritten_ = written_end_;
    } else if (const auto* record = current_.find(sequence)) {
        const auto position = current_.entry(sequence).load(std::memory_order_relaxed);
        unwritten_ =
            std::max(unwritten_, position + StoreSegment::record_bytes(std::uint64_t{record->offset} + record->length));
    }
}

void MessageStore::set_next_sender(std::uint64_t sequence) noexcept {
    // The records told the next numbers; after their removal the header must.
    auto& in_header = current_.header->next_sender;
    in_header.store(next_sender_, std::memory_order_release);
    keep_order();
    forget_elsewhere(sequence);
    current_.forget_from(sequence);
    if (sequence > next_sender_) {
        jump_from_ = next_sender_;
        jump_to_ = sequence;
    }
    keep_order();
    in_header.store(sequence, std::memory_order_release);
    next_sender_ = sequence;
    oldest_ = std::min(oldest_, sequence);
    oldest_begin_ = 0;
    written_to_ = std::min(written_to_, sequence - 1);
    current_.forget_skips_from(sequence);
}

void MessageStore::skip_to(std::uint64_t sequence) noexcept {
    const auto first = next_sender_;
    set_next_sender(sequence);
    if (sequence > first) current_.remember_skip(first, sequence);
}

void MessageStore::reset(std::int64_t utc_ns) noexcept {
    abandon();
    set_next_sender(1);
    set_next_target(1);
    current_.header->creation_utc_ns = utc_ns;
    unwritten_ = written_end_;
    oldest_ = 1;
    oldest_begin_ = 0;
    jump_from_ = 0;
    elsewhere_bytes_ = 0;
    counters_.used_bytes.set(0);
    counters_.resets.add();
}

MemoryStore::MemoryStore(std::int64_t utc_ns, ByteCount data, std::pmr::memory_resource* memory) : resource_(memory) {
    const auto data_bytes = StoreSegment::checked_bytes(data.value);
    const auto bytes = memory_bytes(data_bytes);
    memory_ = {static_cast<std::byte*>(memory->allocate(bytes, kAlignment)), bytes};
    begin(data_bytes, utc_ns);
}

MemoryStore::MemoryStore(std::int64_t utc_ns, std::span<std::byte> memory) : memory_(memory) {
    const auto data_bytes = data_that_fits(memory.size());
    if (memory_bytes(data_bytes) > memory.size() || data_bytes < kLeastBytes) {
        throw std::invalid_argument("memory of " + std::to_string(memory.size()) + " bytes is too small for a store");
    }
    if (reinterpret_cast<std::uintptr_t>(memory.data()) % kAlignment != 0) {
        throw std::invalid_argument("the memory of a store must be aligned to 64 bytes");
    }
    begin(data_bytes, utc_ns);
}

void MemoryStore::begin(std::size_t data_bytes, std::int64_t utc_ns) noexcept {
    std::memset(memory_.data(), 0, memory_.size());
    const auto segment = StoreSegment::create(memory_, data_bytes, utc_ns);
    use(segment, {.end = segment.lap_end() - data_bytes, .oldest = 1, .next = 1});
}

MemoryStore::~MemoryStore() {
    if (resource_ != nullptr) resource_->deallocate(memory_.data(), memory_.size(), kAlignment);
}

}  // namespace millpond::fix
