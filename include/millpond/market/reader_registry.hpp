#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <millpond/core/fixed_string.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/sequenced_words.hpp>

/// How readers of a ring register. Each creates and maps one object, "/millpond.<ring>.reader.<pid>", or
/// "....<pid>.<n>" for further readers of one process; little-endian:
///
///     offset   bytes  field
///       0        8    magic            "MPREADR\0"; stored last
///       8        4    layout version   2
///      12        4    zero
///      16       32    reader's name    zero-padded
///      48        8    epoch            of the ring that it reads
///      56        8    next             number of the entry that it reads next
///      64        8    missed           entries that it lost
///      72       56    zero
///
/// A live reader holds the write lock (F_OFD_SETLK) of its object. Only the owner of the object can lock it, so the
/// lock shows whether the reader lives, whatever process has the PID by now. All others read the object by system calls
/// and never map it, so that no reader can harm the writer or another reader.
namespace millpond::market {

inline constexpr std::uint64_t kReaderMagic = 0x00524441'4552504DULL;  // "MPREADR\0"
inline constexpr std::uint32_t kReaderLayoutVersion = 2;

using ReaderName = core::FixedString<32>;

struct ReaderRecord {
    queue::Word magic;
    std::uint32_t layout_version;
    std::uint32_t zero;
    std::array<queue::Word, 4> name;
    queue::Word epoch;
    queue::Word next;
    queue::Word missed;
    std::array<std::uint64_t, 7> zeros;
};

static_assert(sizeof(ReaderRecord) == 128);

/// A reader as it describes itself. Everything but `uid` is its own claim.
struct RegisteredReader {
    std::uint64_t pid{0};
    std::uint32_t uid{0};  ///< Owner of its object.
    ReaderName name{};     ///< Printable ASCII; other bytes are replaced by '?'.
    std::uint64_t epoch{0};
    std::uint64_t next{0};
    std::uint64_t missed{0};
    bool alive{false};  ///< False when its process ended without leaving.
};

struct ReaderList {
    std::vector<RegisteredReader> readers{};  ///< Live readers first.
    bool complete{true};  ///< False if there are more than `max` readers, or more objects than are examined.
};

/// Lists up to `max` readers of ring `ring_name`. Never blocks on what another user created there: reads only regular
/// files with one link, the expected size and an owner that can be the process in their name. O(names in /dev/shm),
/// bounded: reads at most 65,536 names and opens at most 1,024 objects.
[[nodiscard]] ReaderList list_readers(std::string_view ring_name, std::size_t max);

/// Removes the objects of dead readers that this process may remove: those of its user, or all if it runs as root.
void remove_dead_readers(std::string_view ring_name) noexcept;

/// Registers a reader; the destructor removes the object.
///
/// Threads: one.
/// Memory:  a page in shared memory.
class ReaderRegistration {
public:
    /// Returns nullopt if the object cannot be created: no permission, no memory, or 64 readers of this process are
    /// registered. ring: its permissions decide who may see the reader.
    [[nodiscard]] static std::optional<ReaderRegistration> acquire(std::string_view ring_name,
                                                                   const memory::Region& ring, const ReaderName& name,
                                                                   std::uint64_t epoch);

    ReaderRegistration(ReaderRegistration&& other) noexcept = default;
    ReaderRegistration& operator=(ReaderRegistration&& other) noexcept;
    ~ReaderRegistration();

    void update(std::uint64_t next, std::uint64_t missed) noexcept {
        auto& record = *reinterpret_cast<ReaderRecord*>(region_.data());
        record.next.store(next, std::memory_order_relaxed);
        record.missed.store(missed, std::memory_order_relaxed);
    }

private:
    ReaderRegistration(memory::Region region, int pid) noexcept;

    memory::Region region_;
    int pid_;  // of the process that created the object; a copy in a forked process does not remove it
};

}  // namespace millpond::market
