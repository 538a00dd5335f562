#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/fixed_string.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/sequenced_words.hpp>

/// Where readers of a ring that want to be seen say who they are: the object "/millpond.<name>.readers", little-endian.
///
///     offset   bytes  field
///       0        8    magic            "MPREADR\0"; stored last when the registry is made
///       8        4    layout version   1
///      12        4    seats
///      16      112    zero
///     128  128 x seats:
///       0        8    pid              0: free; taken by compare-and-swap, also from a process that is dead
///       8        8    ready            equals pid once the fields below are the owner's
///      16       32    reader's name    zero-padded
///      48        8    epoch            of the ring that it reads
///      56        8    next             number of the entry that it reads next
///      64        8    missed           entries that it lost
///      72       56    zero
///
/// No hot path reads it: a reader stores `next` and `missed` once a poll, on lines of its own.
namespace millpond::market {

inline constexpr std::uint64_t kReadersMagic = 0x00524441'4552504DULL;  // "MPREADR\0"
inline constexpr std::uint32_t kReadersLayoutVersion = 1;

using ReaderName = core::FixedString<32>;

struct ReaderSeatRecord {
    queue::Word pid;
    queue::Word ready;
    std::array<queue::Word, 4> name;
    queue::Word epoch;
    queue::Word next;
    queue::Word missed;
    std::array<std::uint64_t, 7> zero;
};

struct ReadersHeader {
    queue::Word magic;
    std::uint32_t layout_version;
    std::uint32_t seats;
    std::array<std::uint64_t, 14> zero;
};

static_assert(sizeof(ReaderSeatRecord) == 128 && sizeof(ReadersHeader) == 128);

/// A reader as the registry shows it.
struct RegisteredReader {
    std::uint64_t pid{0};
    ReaderName name{};
    std::uint64_t epoch{0};
    std::uint64_t next{0};
    std::uint64_t missed{0};
    bool alive{false};  ///< False when its process ended without leaving; somebody who comes will take its seat.
};

/// The registry of one ring.
///
/// Threads: seats and lists may be taken by any thread of any process at the same time.
/// Memory:  128 bytes a seat, shared. Processes are told apart by pid, so all must see the same pid namespace.
class ReaderRegistry {
public:
    /// The writer's: opens the registry of ring `ring_name`, or makes it; gives it mode and group either way. Throws
    /// memory::RegionError.
    [[nodiscard]] static ReaderRegistry make(std::string_view ring_name, std::uint32_t seats, std::uint32_t mode,
                                             std::uint32_t group = memory::kOwnGroup);
    /// A reader's: empty when there is none, or none that this process may write or this build reads.
    [[nodiscard]] static std::optional<ReaderRegistry> open(std::string_view ring_name);
    static void unlink(std::string_view ring_name);

    [[nodiscard]] std::uint32_t seats() const noexcept { return seats_; }
    /// Everybody who has a seat. O(seats) and a system call a reader.
    [[nodiscard]] std::vector<RegisteredReader> list() const;

private:
    friend class ReaderSeat;

    explicit ReaderRegistry(memory::Region region) noexcept;
    [[nodiscard]] ReadersHeader& header() noexcept { return *reinterpret_cast<ReadersHeader*>(region_.data()); }
    [[nodiscard]] ReaderSeatRecord* records() noexcept;
    [[nodiscard]] const ReaderSeatRecord* records() const noexcept;

    memory::Region region_;
    std::uint32_t seats_{0};
};

/// A seat in a registry, left when this ends.
///
/// Threads: one.
class ReaderSeat {
public:
    /// Takes a free seat, or that of a dead process. Empty when all are taken.
    [[nodiscard]] static std::optional<ReaderSeat> take(ReaderRegistry registry, const ReaderName& name,
                                                        std::uint64_t epoch);

    ReaderSeat(ReaderSeat&& other) noexcept;
    ReaderSeat& operator=(ReaderSeat&& other) noexcept;
    ~ReaderSeat();

    void update(std::uint64_t next, std::uint64_t missed) noexcept {
        record_->next.store(next, std::memory_order_relaxed);
        record_->missed.store(missed, std::memory_order_relaxed);
    }

private:
    ReaderSeat(ReaderRegistry registry, ReaderSeatRecord* record) noexcept;

    ReaderRegistry registry_;
    ReaderSeatRecord* record_;
};

}  // namespace millpond::market
