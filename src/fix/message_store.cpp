#include <millpond/fix/message_store.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace millpond::fix {
namespace {

constexpr auto kAlignment = StoreSegment::kAlignment;
constexpr auto kMinBytes = StoreSegment::kMinBytes;
constexpr unsigned kEvictionsCountedAtOnce = 8;
constexpr std::size_t kMaxClaimedAhead = 4096;
constexpr std::size_t kPartClaimedAhead = 64;  // claims ahead this part of the store, if that is less
constexpr std::size_t kMaxSpare = 4;           // messages
constexpr std::size_t kPartSpare = 4;          // at most this part of the store
constexpr std::size_t kAhead = 256;            // bytes to prefetch after a message

/// A killed process leaves the result of its instructions in program order: the compiler must not reorder them.
void keep_order() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Largest data size of a store that fits into `memory`.
std::size_t data_that_fits(std::size_t memory) noexcept {
    auto bytes = memory / kAlignment * kAlignment;
    while (bytes > kMinBytes && MessageStore::memory_bytes(bytes) > memory) {
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
    if (bytes == 0 || bytes > capacity / 4 || bytes > kMaxMessageBytes) return refuse();
    const auto record_bytes = StoreSegment::record_bytes(bytes);
    constexpr auto kEndMark = sizeof(StoreRecord);  // after the message
    auto begin = written_end_;
    auto end = begin + record_bytes + kEndMark;
    if (end > lap_end_) [[unlikely]] {
        // A message is contiguous. At the end of a lap the mark does not fit until the socket has accepted the oldest
        // message.
        if (end - kEndMark > lap_end_ || end - unwritten_ > capacity) {
            const auto turned = turn();
            if (turned == Turn::refused) return refuse();
            begin = turned == Turn::wrap ? lap_end_ : written_end_;
            end = begin + record_bytes + kEndMark;
            capacity = current_.data.size();  // turn may have changed the segment
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

/// Whether `claim` would permit this message and a few more of its size in a row. Shorter messages end earlier, so the
/// remaining ones still fit.
bool MessageStore::has_spare(std::size_t bytes) const noexcept {
    const auto capacity = current_.data.size();
    if (bytes == 0 || bytes > capacity / 4) return false;
    const auto spare = std::clamp<std::size_t>(capacity / bytes / kPartSpare, 1, kMaxSpare);
    const auto record_bytes = StoreSegment::record_bytes(bytes);
    auto end = written_end_;
    auto lap_end = lap_end_;
    for (std::size_t i = 0; i <= spare; ++i) {
        const auto marked = end + record_bytes + sizeof(StoreRecord);
        if (end + record_bytes > lap_end || (marked > lap_end && marked - unwritten_ > capacity)) {
            const auto turned = next_turn();
            if (turned != Turn::wrap) return turned == Turn::moved;  // another segment, which is empty
            end = lap_end;
            lap_end += capacity;
        }
        end += record_bytes;
        if (end + sizeof(StoreRecord) - unwritten_ > capacity) return false;
    }
    return true;
}

/// Raises it by more than is needed now, so that few claims get here.
void MessageStore::raise_claimed_end(std::uint64_t begin, std::uint64_t end) noexcept {
    const auto capacity = current_.data.size();
    const auto lap_end = begin == lap_end_ ? lap_end_ + capacity : lap_end_;
    const auto ahead = std::min<std::uint64_t>(kMaxClaimedAhead, capacity / kPartClaimedAhead);
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
        auto* const next = reinterpret_cast<StoreRecord*>(reinterpret_cast<char*>(record) + bytes);
        next->sequence.store(0, std::memory_order_relaxed);
    }
    record->length = static_cast<std::uint32_t>(message.size());
    record->offset = static_cast<std::uint32_t>(offset);
    const auto crc = StoreSegment::crc_of(sequence, claim_begin_, offset, message);
    std::memcpy(reinterpret_cast<char*>(record + 1) + offset + message.size(), &crc, sizeof crc);
    current_.entry(sequence).store(claim_begin_, std::memory_order_relaxed);
    record->sequence.store(sequence, std::memory_order_release);  // sync "message stored": is_whole
    next_sender_ = sequence + 1;
    claim_ = {};
    fetch_ahead(message.data() + message.size(), sequence);
    counters_.stored.add();
    count_eviction();
    return sequence;
}

/// Prefetches the memory of the next messages.
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
    const auto claimed = claim(message.size());
    if (claimed.empty()) return false;
    std::memcpy(claimed.data(), message.data(), message.size());
    commit({claimed.data(), message.size()});
    return true;
}

/// Position of the message's record; 0 if it is not stored. Rarely reads the record.
inline std::uint64_t MessageStore::kept_position(std::uint64_t sequence) const noexcept {
    const auto position = current_.entry(sequence).load(std::memory_order_relaxed);
    if (position + current_.data.size() < claimed_end_) return 0;
    // The slot can only be of a newer message if the number is that old.
    if (next_sender_ - sequence > current_.slot_mask + 1 && current_.find(sequence) == nullptr) return 0;
    return position;
}

void MessageStore::count_eviction() noexcept {
    // The oldest message can only be overwritten in these cases.
    const bool may_be_gone = oldest_begin_ == 0 || oldest_begin_ + current_.data.size() < claimed_end_ ||
                             next_sender_ - oldest_ > current_.slot_mask + 1;
    if (may_be_gone) find_oldest();
    if (oldest_begin_ == 0) return;
    const auto used = elsewhere_bytes_ + written_end_ - oldest_begin_;
    counters_.used_bytes.set(used);
    if (used > counters_.peak_bytes.read()) counters_.peak_bytes.set(used);
}

/// Counts the messages that were evicted before the oldest stored one; of many, a few at a time.
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
        unwritten_ = std::max(unwritten_, position + StoreSegment::record_bytes(*record));
    }
}

void MessageStore::set_next_sender(std::uint64_t sequence) noexcept {
    // The next number followed from the records; without them it must be in the header.
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

std::optional<std::string_view> MessageStore::retrieve(std::uint64_t sequence) const noexcept {
    auto message = current_.retrieve(sequence);
    if (!message) message = retrieve_elsewhere(sequence);
    if (!message && (current_.is_damaged(sequence) || is_damaged_elsewhere(sequence))) counters_.damaged.add();
    return message;
}

MemoryStore::MemoryStore(std::int64_t utc_ns, ByteCount data, std::pmr::memory_resource* memory) : resource_(memory) {
    const auto data_bytes = StoreSegment::checked_bytes(data.value);
    const auto bytes = memory_bytes(data_bytes);
    memory_ = {static_cast<std::byte*>(memory->allocate(bytes, kAlignment)), bytes};
    begin(data_bytes, utc_ns);
}

MemoryStore::MemoryStore(std::int64_t utc_ns, std::span<std::byte> memory) : memory_(memory) {
    const auto data_bytes = data_that_fits(memory.size());
    if (memory_bytes(data_bytes) > memory.size() || data_bytes < kMinBytes) {
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
