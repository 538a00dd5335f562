#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/core/tally.hpp>
#include <millpond/fix/store_segment.hpp>

namespace millpond::fix {

/// A size in bytes, without implicit conversion from other numbers.
struct ByteCount {
    constexpr explicit ByteCount(std::size_t bytes) noexcept : value(bytes) {}
    std::size_t value;
};

/// Store of sent messages by sequence number, and of both sequence numbers. Messages are encoded into its memory and
/// sent from there. A bounded ring: new messages overwrite the oldest, so it never fills up; it only refuses to
/// overwrite messages that were not yet written to the socket. It has one segment, which is the ring, or several, of
/// which the oldest is reused.
///
/// Threads: one; the counters may be read on any.
/// Memory:  the caller's; MemoryStore and FileStore have their own.
class MessageStore {
public:
    MessageStore(const MessageStore&) = delete;
    MessageStore& operator=(const MessageStore&) = delete;
    virtual ~MessageStore() = default;

    /// Claims contiguous memory for a message of up to `bytes` and evicts the messages there. Returns an empty span and
    /// changes nothing if that would overwrite an unwritten message, or if `bytes` exceeds a quarter of the store. A
    /// claim ends with `commit` or `abandon`; a second claim replaces the first.
    [[nodiscard]] std::span<char> claim(std::size_t bytes) noexcept;

    /// Like claim, but keeps a reserve of a few such messages, or one in a small store: for messages that a session
    /// must send before the socket has accepted the stored ones.
    [[nodiscard]] std::span<char> claim_with_spare(std::size_t bytes) noexcept;

    /// Stores `message`, a part of the claimed memory, under next_sender(), and increments that. Returns its number.
    std::uint64_t commit(std::string_view message) noexcept;
    void abandon() noexcept { claim_ = {}; }

    /// Stores a copy of a message: claim and commit in one call. False if the claim is refused.
    [[nodiscard]] bool store(std::string_view message) noexcept;

    /// Prefetches the memory of the next messages.
    void warm_up() const noexcept;

    /// Marks messages up to this number as written to the socket: they may be evicted.
    void mark_written(std::uint64_t sequence) noexcept;

    /// The message with this number; nullopt if it was never stored, is overwritten, or is damaged, which is counted.
    /// Valid until the next claim.
    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept;
    /// Counts damaged messages that the caller has detected.
    void count_damaged(std::uint64_t messages = 1) const noexcept { counters_.damaged.add(messages); }

    /// Calls visit(sequence, message) for each stored message from `first` to `last`; last 0: the newest.
    template <class Visitor>
    void retrieve_range(std::uint64_t first, std::uint64_t last, Visitor&& visit) const {
        const auto newest = next_sender() - 1;
        if (last == 0 || last > newest) last = newest;
        while (first <= last) {
            if (const auto message = retrieve(first)) {
                visit(first++, *message);
            } else {
                first = next_kept(first + 1);
            }
        }
    }
    /// Lowest number from `sequence` on whose message is stored, even if damaged; next_sender() if there is none.
    /// Linear in the store's slots, however many numbers are missing.
    [[nodiscard]] std::uint64_t next_kept(std::uint64_t sequence) const noexcept;

    /// Numbers of the next message to send and of the next message expected.
    [[nodiscard]] std::uint64_t next_sender() const noexcept { return next_sender_; }
    [[nodiscard]] std::uint64_t next_target() const noexcept {
        return current_.header->next_target.load(std::memory_order_relaxed);
    }
    /// Removes messages with this number and above. Linear in the store's slots.
    void set_next_sender(std::uint64_t sequence) noexcept;
    /// Sets the next number. If it is greater, the numbers between count as skipped, not as lost; the newest
    /// kStoreSkips of such ranges are recorded. If it is smaller, removes messages like set_next_sender.
    void skip_to(std::uint64_t sequence) noexcept;
    /// Count of the numbers in [first, next) that skip_to has skipped.
    [[nodiscard]] std::uint64_t skipped(std::uint64_t first, std::uint64_t next) const noexcept {
        return current_.skipped(first, next);
    }
    void set_next_target(std::uint64_t sequence) noexcept {
        current_.header->next_target.store(sequence,
                                           std::memory_order_release);  // sync "message stored": open after a crash
    }

    /// Removes all messages and sets both numbers to 1. Linear in the store's slots.
    void reset(std::int64_t utc_ns) noexcept;
    /// Reads the state again after another process, for example a standby, has changed the memory. Requires that no
    /// message is claimed.
    virtual void refresh() noexcept {}
    [[nodiscard]] std::int64_t creation_utc_ns() const noexcept { return current_.header->creation_utc_ns; }

    struct Counters {
        core::Tally stored;       ///< Messages committed.
        core::Tally overwritten;  ///< Messages evicted; may lag by the messages that one long message evicted.
        core::Tally refused;      ///< Claims refused.
        core::Tally resets;
        core::Tally damaged;     ///< Reads of damaged messages.
        core::Tally failures;    ///< Failed attempts to prepare a segment, for example on a full disk.
        core::Tally used_bytes;  ///< Bytes of the ring that hold messages.
        core::Tally peak_bytes;
    };
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    /// Capacity for messages; of a FileStore, of its existing segments.
    [[nodiscard]] virtual std::size_t capacity_bytes() const noexcept { return current_.data.size(); }

    /// Whether a store or segment of `data_bytes` permits claims of `message_bytes`.
    [[nodiscard]] static bool accepts(std::size_t data_bytes, std::size_t message_bytes) noexcept {
        return message_bytes != 0 && message_bytes <= kMaxMessageBytes && data_bytes >= min_bytes(message_bytes);
    }
    /// Minimum data bytes for claims of `message_bytes`.
    [[nodiscard]] static std::size_t min_bytes(std::size_t message_bytes) noexcept {
        constexpr auto kAlignment = StoreSegment::kAlignment;
        return std::max(StoreSegment::kMinBytes, (4 * message_bytes + kAlignment - 1) / kAlignment * kAlignment);
    }
    /// Size of a store of `data_bytes`, including header and index.
    [[nodiscard]] static std::size_t memory_bytes(std::size_t data_bytes) noexcept {
        return StoreSegment::memory_bytes(data_bytes);
    }

    static constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 30U;

protected:
    /// Outcome for a message that does not fit before the end of the current segment.
    enum class Turn : std::uint8_t {
        wrap,     ///< Continue at its start.
        moved,    ///< Another segment is current.
        refused,  ///< Unwritten messages would be overwritten.
    };

    MessageStore() noexcept = default;

    [[nodiscard]] virtual Turn turn() noexcept { return Turn::wrap; }
    /// Result that `turn` would return now.
    [[nodiscard]] virtual Turn next_turn() const noexcept { return Turn::wrap; }
    [[nodiscard]] virtual std::optional<std::string_view> retrieve_elsewhere(std::uint64_t sequence) const noexcept {
        static_cast<void>(sequence);
        return std::nullopt;
    }
    [[nodiscard]] virtual bool is_damaged_elsewhere(std::uint64_t sequence) const noexcept {
        static_cast<void>(sequence);
        return false;
    }
    /// Like next_kept, for the other segments; UINT64_MAX if there is none.
    [[nodiscard]] virtual std::uint64_t next_kept_elsewhere(std::uint64_t sequence) const noexcept {
        static_cast<void>(sequence);
        return std::numeric_limits<std::uint64_t>::max();
    }
    /// Removes messages of other segments with this number and above.
    virtual void forget_elsewhere(std::uint64_t sequence) noexcept { static_cast<void>(sequence); }

    /// Position at which a segment continues.
    struct Start {
        std::uint64_t end;     ///< Position of the next record.
        std::uint64_t oldest;  ///< Number of the segment's first message, or of the next one.
        std::uint64_t next;    ///< Number of the next message.
    };

    /// Makes this segment the current one.
    void use(const StoreSegment& segment, const Start& start) noexcept;
    /// Position after the newest record of the current segment.
    [[nodiscard]] std::uint64_t written_end() const noexcept { return written_end_; }
    [[nodiscard]] const StoreSegment& current() const noexcept { return current_; }
    /// Highest number that was written to the socket.
    [[nodiscard]] std::uint64_t written_to() const noexcept { return written_to_; }
    void set_written_to(std::uint64_t sequence) noexcept { written_to_ = sequence; }
    void count_failure() noexcept { counters_.failures.add(); }
    void count_elsewhere(std::uint64_t bytes, std::uint64_t overwritten) noexcept {
        elsewhere_bytes_ = bytes;
        counters_.overwritten.add(overwritten);
    }

private:
    [[nodiscard]] bool has_spare(std::size_t bytes) const noexcept;
    void raise_claimed_end(std::uint64_t begin, std::uint64_t end) noexcept;
    [[nodiscard]] std::uint64_t kept_position(std::uint64_t sequence) const noexcept;
    void count_eviction() noexcept;
    void find_oldest() noexcept;
    void fetch_ahead(const char* end, std::uint64_t sequence) const noexcept;

    StoreSegment current_;
    std::span<char> claim_;
    std::uint64_t claim_begin_{0};  // position of the claimed record
    std::uint64_t written_end_{0};  // position after the newest record
    std::uint64_t next_sender_{1};
    std::uint64_t claimed_end_{0};   // the header's claimed_end
    std::uint64_t lap_end_{0};       // position at which the current segment's data starts over
    std::uint64_t unwritten_{0};     // position of the first unwritten record
    std::uint64_t written_to_{0};    // highest number that was written
    std::uint64_t oldest_{1};        // number of the current segment's oldest message that is not counted as evicted
    std::uint64_t oldest_begin_{0};  // position of that message's record; 0: not known
    std::uint64_t jump_from_{0};     // numbers from here to jump_to_ were skipped
    std::uint64_t jump_to_{0};
    std::uint64_t elsewhere_bytes_{0};  // bytes of messages in other segments
    mutable Counters counters_;
};

/// A MessageStore in memory.
class MemoryStore final : public MessageStore {
public:
    static constexpr std::size_t kDefaultBytes = 64U << 20U;

    /// data: capacity for messages, with 16 bytes or more of overhead for each; 4096 or more, rounded down to a
    /// multiple of 64. utc_ns: creation time. Throws std::invalid_argument, and exceptions of `memory`.
    explicit MemoryStore(std::int64_t utc_ns, ByteCount data = ByteCount{kDefaultBytes},
                         std::pmr::memory_resource* memory = std::pmr::get_default_resource());
    /// Uses all of the caller's memory, for example a Region. Throws std::invalid_argument if it is too small or not
    /// aligned to 64 bytes.
    MemoryStore(std::int64_t utc_ns, std::span<std::byte> memory);
    ~MemoryStore() override;

private:
    void begin(std::size_t data_bytes, std::int64_t utc_ns) noexcept;

    std::pmr::memory_resource* resource_{nullptr};  // null: the memory is the caller's
    std::span<std::byte> memory_;
};

}  // namespace millpond::fix
