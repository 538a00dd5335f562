#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/fix/store_identity.hpp>
#include <millpond/fix/store_segment.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::fix {

/// Reads a FileStore's files without owning or changing them. The owner may be running: its writes may then be seen
/// half done, so faults count only if `owned` is false.
///
/// Threads: one. Memory: the files, mapped.
class StoreReader {
public:
    struct Segment {
        std::filesystem::path file;
        std::uint64_t generation{0};  ///< The segment with the greatest generation is the current one; 0: never used.
        std::size_t data_bytes{0};
        StoreSegment::Extent extent;
    };
    struct Fault {
        std::uint64_t sequence{0};
        std::string what;
    };
    struct Verification {
        std::uint64_t messages{0};  ///< Intact messages.
        std::uint64_t missing{0};   ///< Missing numbers between the oldest message and the newest.
        std::uint64_t skipped{0};   ///< Missing numbers that never had a message.
        std::uint64_t faulty{0};
        std::vector<Fault> faults;  ///< The first hundred faults.
    };

    /// path: see FileStore. Throws memory::RegionError if there is no such file, std::invalid_argument if it is not a
    /// store.
    explicit StoreReader(const std::filesystem::path& path);

    [[nodiscard]] const std::vector<Segment>& segments() const noexcept { return segments_; }
    /// File with the newest messages and both numbers, if it is missing: this object's data is then older.
    [[nodiscard]] const std::optional<std::filesystem::path>& missing_file() const noexcept { return missing_file_; }
    [[nodiscard]] bool owned() const noexcept { return regions_.front().owned_elsewhere(); }
    /// Identity of the store's session; empty: none yet.
    [[nodiscard]] StoreIdentity identity() const;
    [[nodiscard]] std::int64_t creation_utc_ns() const noexcept { return creation_utc_ns_; }
    [[nodiscard]] std::uint64_t next_sender() const noexcept { return next_sender_; }
    [[nodiscard]] std::uint64_t next_target() const noexcept { return next_target_; }
    /// Number of the oldest stored message; next_sender() if there is none.
    [[nodiscard]] std::uint64_t oldest() const noexcept { return oldest_; }

    /// Returns nullopt if the message with this number is missing or damaged.
    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept;
    /// Lowest number from `sequence` on whose message is stored; next_sender() if there is none. Linear in the slots.
    [[nodiscard]] std::uint64_t next_kept(std::uint64_t sequence) const noexcept;
    /// Calls visit(sequence, message) for each stored message from `first` to `last`; last 0: the newest.
    template <class Visitor>
    void visit(std::uint64_t first, std::uint64_t last, Visitor&& visitor) const {
        if (last == 0 || last >= next_sender_) last = next_sender_ - 1;
        if (first < oldest_) first = oldest_;
        while (first <= last) {
            if (const auto message = retrieve(first)) {
                visitor(first++, *message);
            } else {
                first = next_kept(first + 1);
            }
        }
    }

    /// Verifies the CRC of each record, and that each message is a FIX message with a correct CheckSum and its number.
    [[nodiscard]] Verification verify() const;

private:
    void add(const std::filesystem::path& file);
    [[nodiscard]] bool may_hold(std::size_t segment, std::uint64_t sequence) const noexcept;
    [[nodiscard]] bool is_damaged(std::uint64_t sequence) const noexcept;

    std::vector<memory::Region> regions_;
    std::vector<StoreSegment> mapped_;
    std::vector<Segment> segments_;
    std::size_t current_{0};
    std::optional<std::filesystem::path> missing_file_;
    std::int64_t creation_utc_ns_{0};
    std::uint64_t next_sender_{1};
    std::uint64_t next_target_{1};
    std::uint64_t oldest_{1};
};

}  // namespace millpond::fix
