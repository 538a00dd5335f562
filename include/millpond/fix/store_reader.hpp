#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <millpond/fix/store_identity.hpp>
#include <millpond/fix/store_layout2.hpp>
#include <millpond/fix/store_segment.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::fix {

/// Looks at a FileStore's files, of this layout or of layout 2, without taking them over or changing them. Their owner
/// may be running: then what it writes meanwhile may be seen half, so a fault counts only where `owned` is false.
///
/// Threads: one. Memory: the files, mapped.
class StoreReader {
public:
    struct Segment {
        std::filesystem::path file;
        std::uint32_t layout{0};
        std::uint64_t generation{0};  ///< The greatest is the current one's; 0: never used.
        std::size_t data_bytes{0};
        StoreSegment::Extent extent;
    };
    struct Fault {
        std::uint64_t sequence{0};
        std::string what;
    };
    struct Verification {
        std::uint64_t messages{0};  ///< That are whole.
        std::uint64_t missing{0};   ///< Numbers between the oldest message and the newest that are not there.
        std::uint64_t skipped{0};   ///< Of the missing, those that never had a message.
        std::uint64_t faulty{0};
        std::vector<Fault> faults;  ///< The first hundred.
    };

    /// path: as for FileStore. Throws memory::RegionError when there is no such file, std::invalid_argument when it is
    /// no store.
    explicit StoreReader(const std::filesystem::path& path);

    [[nodiscard]] const std::vector<Segment>& segments() const noexcept { return segments_; }
    /// The file with the newest messages and both numbers, if it is gone: those of this object are older then.
    [[nodiscard]] const std::optional<std::filesystem::path>& missing_file() const noexcept { return missing_file_; }
    [[nodiscard]] bool owned() const noexcept { return regions_.front().owned_elsewhere(); }
    /// Of the session that the store belongs to; empty: none yet, or layout 2.
    [[nodiscard]] StoreIdentity identity() const;
    [[nodiscard]] std::int64_t creation_utc_ns() const noexcept { return creation_utc_ns_; }
    [[nodiscard]] std::uint64_t next_sender() const noexcept { return next_sender_; }
    [[nodiscard]] std::uint64_t next_target() const noexcept { return next_target_; }
    /// Number of the oldest message that is there; next_sender() when there is none.
    [[nodiscard]] std::uint64_t oldest() const noexcept { return oldest_; }

    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept;
    /// The lowest number from `sequence` on whose message is there; next_sender() when there is none. Linear in the
    /// slots.
    [[nodiscard]] std::uint64_t next_kept(std::uint64_t sequence) const noexcept;
    /// Calls visit(sequence, message) for each message from `first` to `last` that is there; last 0 means the newest.
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

    /// Whether each message is one FIX message with a right CheckSum and its own number.
    [[nodiscard]] Verification verify() const;

private:
    using Mapped = std::variant<StoreSegment, Layout2Segment>;

    void add(const std::filesystem::path& file);

    std::vector<memory::Region> regions_;
    std::vector<Mapped> mapped_;
    std::vector<Segment> segments_;
    std::size_t current_{0};
    std::optional<std::filesystem::path> missing_file_;
    std::int64_t creation_utc_ns_{0};
    std::uint64_t next_sender_{1};
    std::uint64_t next_target_{1};
    std::uint64_t oldest_{1};
};

}  // namespace millpond::fix
