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

/// A size in bytes. No other number becomes one without saying so.
struct ByteCount {
    constexpr explicit ByteCount(std::size_t bytes) noexcept : value(bytes) {}
    std::size_t value;
};

/// What a session has sent, by sequence number, and both sequence numbers: the memory that messages are encoded into
/// and sent from. A bounded ring: the oldest message makes room for the newest, so it never fills up; it only refuses
/// to overwrite what has not been handed to the socket yet.
/// It has one segment, which is then the ring, or several, of which the oldest is used again.
///
/// Threads: one uses it; the counters may be read on any.
/// Memory:  the caller's (MemoryStore and FileStore bring their own).
class MessageStore {
public:
    MessageStore(const MessageStore&) = delete;
    MessageStore& operator=(const MessageStore&) = delete;
    virtual ~MessageStore() = default;

    /// Room for a message of up to `bytes`, in one piece, which evicts what lies there. Empty, and nothing changes,
    /// when that would overwrite a message that is not written yet or when `bytes` is more than a quarter of the store.
    /// A claim ends with `commit` or `abandon`; a second claim replaces the first.
    [[nodiscard]] std::span<char> claim(std::size_t bytes) noexcept;

    /// The same, refused too when it would leave no room for a few more of that size, or for one in a small store: what
    /// a session must say before the socket has taken all that was stored.
    [[nodiscard]] std::span<char> claim_with_spare(std::size_t bytes) noexcept;

    /// Keeps `message`, a part of the claimed room, under next_sender() and moves that on. Returns its number.
    std::uint64_t commit(std::string_view message) noexcept;
    void abandon() noexcept { claim_ = {}; }

    /// Copies a message in: claim and commit in one. False when the claim is refused.
    [[nodiscard]] bool store(std::string_view message) noexcept;

    /// Asks for the memory of the next messages, and changes nothing.
    void warm_up() const noexcept;

    /// Everything up to this number has been handed to the socket and may be evicted.
    void mark_written(std::uint64_t sequence) noexcept;

    /// The message as it was committed; nothing when there is none of this number or it is overwritten. Valid until
    /// the next claim.
    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept {
        const auto message = current_.retrieve(sequence);
        return message ? message : retrieve_elsewhere(sequence);
    }

    /// Calls visit(sequence, message) for each message from `first` to `last` that is there; last 0 means the newest.
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
    /// The lowest number from `sequence` on whose message is there; next_sender() when there is none. Linear in the
    /// store's slots, however many numbers are missing.
    [[nodiscard]] std::uint64_t next_kept(std::uint64_t sequence) const noexcept;

    /// The number of the next message to send, and of the next one expected.
    [[nodiscard]] std::uint64_t next_sender() const noexcept { return next_sender_; }
    [[nodiscard]] std::uint64_t next_target() const noexcept {
        return current_.header->next_target.load(std::memory_order_relaxed);
    }
    /// Messages with this number and above are forgotten. Linear in the store's slots.
    void set_next_sender(std::uint64_t sequence) noexcept;
    /// The same; a greater number leaves out those up to it, which then count as skipped and not as lost. The newest
    /// kStoreSkips of such ranges are remembered.
    void skip_to(std::uint64_t sequence) noexcept;
    /// How many of the numbers from `first` up to `next`, which is not one of them, were left out by skip_to.
    [[nodiscard]] std::uint64_t skipped(std::uint64_t first, std::uint64_t next) const noexcept {
        return current_.skipped(first, next);
    }
    void set_next_target(std::uint64_t sequence) noexcept {
        current_.header->next_target.store(sequence,
                                           std::memory_order_release);  // sync "message taken": open after a crash
    }

    /// Forgets all messages; both numbers become 1. Linear in the store's slots.
    void reset(std::int64_t utc_ns) noexcept;
    /// Takes over what another process has changed in the memory meanwhile, a standby's copy say. Nothing may be
    /// claimed.
    virtual void refresh() noexcept {}
    [[nodiscard]] std::int64_t creation_utc_ns() const noexcept { return current_.header->creation_utc_ns; }

    struct Counters {
        core::Tally stored;       ///< Messages committed.
        core::Tally overwritten;  ///< Messages evicted; may lag behind by those that one long message evicted.
        core::Tally refused;      ///< Claims refused.
        core::Tally resets;
        core::Tally failures;    ///< Failed attempts to prepare more room, for example on a full disk.
        core::Tally used_bytes;  ///< Bytes of the ring that hold messages.
        core::Tally peak_bytes;
    };
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    /// Of messages; those of a FileStore's segments that are there.
    [[nodiscard]] virtual std::size_t capacity_bytes() const noexcept { return current_.data.size(); }

    /// Whether a store, or a segment of one, of `data_bytes` grants claims of `message_bytes`.
    [[nodiscard]] static bool takes(std::size_t data_bytes, std::size_t message_bytes) noexcept {
        return message_bytes != 0 && message_bytes <= kMostMessageBytes && data_bytes >= least_bytes(message_bytes);
    }
    /// The least data bytes for claims of `message_bytes`.
    [[nodiscard]] static std::size_t least_bytes(std::size_t message_bytes) noexcept {
        constexpr auto kAlignment = StoreSegment::kAlignment;
        return std::max(StoreSegment::kLeastBytes, (4 * message_bytes + kAlignment - 1) / kAlignment * kAlignment);
    }
    /// Bytes that a store of `data_bytes` takes, header and index included.
    [[nodiscard]] static std::size_t memory_bytes(std::size_t data_bytes) noexcept {
        return StoreSegment::memory_bytes(data_bytes);
    }

    static constexpr std::size_t kMostMessageBytes = std::size_t{1} << 30U;

protected:
    /// What to do when the current segment has no room in front of its end.
    enum class Turn : std::uint8_t {
        wrap,     ///< Go on at its start.
        moved,    ///< Another segment is current now.
        refused,  ///< The socket has not taken what would be overwritten.
    };

    MessageStore() noexcept = default;

    [[nodiscard]] virtual Turn turn() noexcept { return Turn::wrap; }
    /// What `turn` would do now.
    [[nodiscard]] virtual Turn next_turn() const noexcept { return Turn::wrap; }
    [[nodiscard]] virtual std::optional<std::string_view> retrieve_elsewhere(std::uint64_t sequence) const noexcept {
        static_cast<void>(sequence);
        return std::nullopt;
    }
    /// Like next_kept, for the other segments; UINT64_MAX if there is none.
    [[nodiscard]] virtual std::uint64_t next_kept_elsewhere(std::uint64_t sequence) const noexcept {
        static_cast<void>(sequence);
        return std::numeric_limits<std::uint64_t>::max();
    }
    /// Messages of other segments with this number and above are forgotten.
    virtual void forget_elsewhere(std::uint64_t sequence) noexcept { static_cast<void>(sequence); }

    /// Where a segment continues.
    struct Start {
        std::uint64_t end;     ///< Position of the next record.
        std::uint64_t oldest;  ///< Number of the segment's first message, or of the next one.
        std::uint64_t next;    ///< Number of the next message.
    };

    /// Writes into this segment from now on.
    void use(const StoreSegment& segment, const Start& start) noexcept;
    /// Position behind the newest record of the current segment.
    [[nodiscard]] std::uint64_t written_end() const noexcept { return written_end_; }
    [[nodiscard]] const StoreSegment& current() const noexcept { return current_; }
    /// Highest number that the socket has taken.
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
    std::uint64_t claim_begin_{0};  // position of its record
    std::uint64_t written_end_{0};  // position behind the newest record
    std::uint64_t next_sender_{1};
    std::uint64_t claimed_end_{0};   // the header's
    std::uint64_t lap_end_{0};       // position at which the current segment's data begins again
    std::uint64_t unwritten_{0};     // position of the first record that the socket has not taken
    std::uint64_t written_to_{0};    // highest number that it has taken
    std::uint64_t oldest_{1};        // number of the current segment's oldest message that is not counted as evicted
    std::uint64_t oldest_begin_{0};  // position of that message's record; 0: not known
    std::uint64_t jump_from_{0};     // numbers from here to jump_to_ were left out
    std::uint64_t jump_to_{0};
    std::uint64_t elsewhere_bytes_{0};  // of messages in other segments
    Counters counters_;
};

/// A MessageStore in memory that lasts as long as the object.
class MemoryStore final : public MessageStore {
public:
    static constexpr std::size_t kDefaultBytes = 64U << 20U;

    /// data: of messages and 16 bytes or more for each of them, from 4096 on; rounded down to a multiple of 64.
    /// utc_ns: creation time. Throws std::invalid_argument, and what `memory` throws.
    explicit MemoryStore(std::int64_t utc_ns, ByteCount data = ByteCount{kDefaultBytes},
                         std::pmr::memory_resource* memory = std::pmr::get_default_resource());
    /// On memory of the caller's, a Region say: all of it is used. Throws std::invalid_argument when it is too little
    /// or not aligned to 64 bytes.
    MemoryStore(std::int64_t utc_ns, std::span<std::byte> memory);
    ~MemoryStore() override;

private:
    void begin(std::size_t data_bytes, std::int64_t utc_ns) noexcept;

    std::pmr::memory_resource* resource_{nullptr};  // null: the memory is the caller's
    std::span<std::byte> memory_;
};

}  // namespace millpond::fix
