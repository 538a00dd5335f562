#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/core/tally.hpp>
#include <millpond/fix/store_layout.hpp>

namespace millpond::fix {

/// What a session has sent, by sequence number, and both sequence numbers: the memory that messages are encoded into
/// and sent from. A bounded ring: the oldest message makes room for the newest, so it never fills up; it only refuses
/// to overwrite what has not been handed to the socket yet.
///
/// Threads: one uses it; the tallies may be read on any.
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

    /// Keeps `message`, a part of the claimed room, under next_sender() and moves that on. Returns its number.
    std::uint64_t commit(std::string_view message) noexcept;
    void abandon() noexcept { claim_ = {}; }

    /// Copies a message in: claim and commit in one. False when the claim is refused.
    [[nodiscard]] bool store(std::string_view message) noexcept;

    /// Everything up to this number has been handed to the socket and may be evicted.
    void mark_written(std::uint64_t sequence) noexcept;

    /// The message as it was committed; nothing when there is none of this number or it is overwritten. Valid until
    /// the next claim.
    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept;

    /// Calls visit(sequence, message) for each message from `first` to `last` that is there; last 0 means the newest.
    template <class Visitor>
    void retrieve_range(std::uint64_t first, std::uint64_t last, Visitor&& visit) const {
        const auto newest = next_sender() - 1;
        if (last == 0 || last > newest) last = newest;
        for (auto sequence = first; sequence <= last; ++sequence) {
            if (const auto message = retrieve(sequence)) visit(sequence, *message);
        }
    }

    /// The number of the next message to send, and of the next one expected.
    [[nodiscard]] std::uint64_t next_sender() const noexcept {
        return header_->next_sender.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t next_target() const noexcept {
        return header_->next_target.load(std::memory_order_relaxed);
    }
    /// Messages with this number and above are forgotten. Linear in the store's slots.
    void set_next_sender(std::uint64_t sequence) noexcept;
    void set_next_target(std::uint64_t sequence) noexcept {
        header_->next_target.store(sequence, std::memory_order_release);  // sync "message taken": open after a crash
    }

    /// Forgets all messages; both numbers become 1. Linear in the store's slots.
    void reset(std::int64_t utc_ns) noexcept;
    [[nodiscard]] std::int64_t creation_utc_ns() const noexcept { return header_->creation_utc_ns; }

    struct Tallies {
        core::Tally stored;       ///< Messages committed.
        core::Tally overwritten;  ///< Messages evicted; may lag behind by those that one long message evicted.
        core::Tally refused;      ///< Claims refused.
        core::Tally resets;
        core::Tally used_bytes;  ///< Bytes of the ring that hold messages.
        core::Tally peak_bytes;
    };
    [[nodiscard]] const Tallies& tallies() const noexcept { return tallies_; }
    [[nodiscard]] std::size_t capacity_bytes() const noexcept { return data_.size(); }

    /// Bytes that a store of `data_bytes` takes, header and index included.
    [[nodiscard]] static std::size_t memory_bytes(std::size_t data_bytes) noexcept;

protected:
    MessageStore() noexcept = default;

    /// Makes an empty store of `memory`, which is zeroed, aligned to 64 bytes and of memory_bytes(data_bytes) or more.
    void create(std::span<std::byte> memory, std::size_t data_bytes, std::int64_t utc_ns) noexcept;
    /// Takes over what lies in `memory`. False when it is no store of this size and layout.
    [[nodiscard]] bool attach(std::span<std::byte> memory) noexcept;

private:
    [[nodiscard]] StoreEntry& entry(std::uint64_t sequence) const noexcept { return entries_[sequence & slot_mask_]; }
    [[nodiscard]] bool holds(const StoreEntry& entry, std::uint64_t sequence) const noexcept;
    void place(std::span<std::byte> memory) noexcept;
    void count_eviction() noexcept;

    StoreHeader* header_{nullptr};
    StoreEntry* entries_{nullptr};
    std::uint64_t slot_mask_{0};
    std::span<char> data_;
    std::span<char> claim_;
    std::uint64_t claim_begin_{0};  // position of claim_
    std::uint64_t unwritten_{0};    // position of the first byte that the socket has not taken
    std::uint64_t oldest_{1};       // number of the oldest message that is not counted as evicted
    std::uint64_t jump_from_{0};    // numbers from here to jump_to_ were left out
    std::uint64_t jump_to_{0};
    Tallies tallies_;
};

/// A MessageStore in memory that lasts as long as the object.
class MemoryStore final : public MessageStore {
public:
    static constexpr std::size_t kDefaultBytes = 64U << 20U;

    /// data_bytes: of messages, from 4096 on; rounded down to a multiple of 64. utc_ns: creation time. Throws
    /// std::invalid_argument, and what `memory` throws.
    explicit MemoryStore(std::int64_t utc_ns, std::size_t data_bytes = kDefaultBytes,
                         std::pmr::memory_resource* memory = std::pmr::get_default_resource());
    /// On memory of the caller's, a Region say: all of it is used. Throws std::invalid_argument when it is too little
    /// or not aligned to 64 bytes.
    MemoryStore(std::int64_t utc_ns, std::span<std::byte> memory);
    ~MemoryStore() override;

private:
    std::pmr::memory_resource* resource_{nullptr};  // null: the memory is the caller's
    std::span<std::byte> memory_;
};

}  // namespace millpond::fix
