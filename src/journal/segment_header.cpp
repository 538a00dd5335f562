#include <millpond/journal/segment_header.hpp>

#include <array>
#include <bit>
#include <cstring>
#include <span>

#include <millpond/core/crc32c.hpp>

namespace millpond::journal {
namespace {

constexpr std::size_t kIdentityBegin = offsetof(SegmentHeader, layout_version);
constexpr std::size_t kIdentityWords = (offsetof(SegmentHeader, identity_crc) - kIdentityBegin) / 8;

/// The checksummed words and their checksum, as in the file.
struct Raw {
    std::array<std::uint64_t, kIdentityWords> words;
    std::uint64_t crc;

    explicit Raw(const SegmentHeader& header) noexcept : crc(header.identity_crc) {
        std::memcpy(words.data(), reinterpret_cast<const std::byte*>(&header) + kIdentityBegin, sizeof words);
    }
    [[nodiscard]] std::uint32_t layout_version() const noexcept { return static_cast<std::uint32_t>(words[0]); }
    [[nodiscard]] std::uint32_t header_bytes() const noexcept { return static_cast<std::uint32_t>(words[0] >> 32U); }
    [[nodiscard]] bool agrees() const noexcept { return core::crc32c(words) == crc; }
    /// True if a writer of this layout can have written the fields.
    [[nodiscard]] bool plausible() const noexcept {
        return layout_version() == kLayoutVersion && header_bytes() == kHeaderBytes && words[1] != 0 &&
               words[1] % kIndexBlockBytes == 0;
    }
    [[nodiscard]] SegmentIdentity identity() const noexcept {
        SegmentIdentity identity{.epoch = words[4],
                                 .session = words[kIdentityWords - 1],
                                 .first_record = words[2],
                                 .begun_utc_ns = static_cast<std::int64_t>(words[3]),
                                 .segment_bytes = words[1]};
        std::memcpy(static_cast<void*>(&identity.ring), &words[5], sizeof identity.ring);
        return identity;
    }
};

/// Repairs one damaged byte. Returns its offset in the header; nullopt if no single byte explains the checksum, or if
/// several do.
std::optional<std::size_t> repair(Raw& raw) noexcept {
    constexpr unsigned kBits = 8;
    std::optional<std::size_t> found;
    Raw good = raw;
    const auto bytes_apart = [](std::uint64_t a, std::uint64_t b) {
        unsigned count = 0;
        for (auto rest = a ^ b; rest != 0; rest >>= kBits) count += (rest & 0xFFU) != 0 ? 1 : 0;
        return count;
    };
    if (const std::uint64_t crc = core::crc32c(raw.words); bytes_apart(crc, raw.crc) == 1 && raw.plausible()) {
        found =
            offsetof(SegmentHeader, identity_crc) + static_cast<std::size_t>(std::countr_zero(crc ^ raw.crc)) / kBits;
        good.crc = crc;
    }
    Raw attempt = raw;
    for (std::size_t byte = 0; byte < kIdentityWords * 8; ++byte) {
        auto& word = attempt.words[byte / 8];
        const auto before = word;
        for (std::uint64_t change = 1; change < 256; ++change) {
            word = before ^ change << (byte % 8 * kBits);
            if (!attempt.agrees() || !attempt.plausible()) continue;
            if (found) return std::nullopt;
            found = kIdentityBegin + byte;
            good = attempt;
        }
        word = before;
    }
    if (found) raw = good;
    return found;
}

std::string unknown_version(std::uint32_t version) {
    return "a journal segment of layout version " + std::to_string(version) + "; this build reads version " +
           std::to_string(kLayoutVersion) + " only: export it with the version of millpond that wrote it";
}

std::uint32_t place_crc(const IndexedPlace& place) noexcept {
    return core::crc32c(std::array<std::uint64_t, 4>{place.record, place.offset, place.ring,
                                                     static_cast<std::uint64_t>(place.newest_utc_ns)});
}

std::uint32_t tail_crc(const SegmentTail& tail) noexcept {
    return core::crc32c(std::array<std::uint64_t, 4>{tail.next_record, tail.last_ring,
                                                     static_cast<std::uint64_t>(tail.newest_utc_ns), tail.end});
}

std::uint32_t oldest_crc(const SegmentTail& tail) noexcept {
    return core::crc32c(
        std::array<std::uint64_t, 3>{static_cast<std::uint64_t>(tail.oldest_utc_ns), tail.next_record, tail.end});
}

/// 0 if there is no checkpoint, as in a header without the field.
std::uint64_t needed_crc(std::uint64_t checkpoint, std::uint64_t first_record) noexcept {
    return checkpoint == 0 ? 0 : core::crc32c(std::array<std::uint64_t, 2>{checkpoint, first_record});
}

constexpr std::uint64_t kLowHalf = 0xFFFFFFFFU;

}  // namespace

void write_identity(SegmentHeader& header, const SegmentIdentity& identity) noexcept {
    header.layout_version = kLayoutVersion;
    header.header_bytes = kHeaderBytes;
    header.segment_bytes = identity.segment_bytes;
    header.first_record = identity.first_record;
    header.begun_utc_ns = identity.begun_utc_ns;
    header.epoch = identity.epoch;
    header.ring = identity.ring;
    header.session = identity.session;
    header.identity_crc = core::crc32c(Raw{header}.words);
}

void write_tail(SegmentHeader& header, const SegmentTail& tail) noexcept {
    header.next_record.store(tail.next_record, std::memory_order_relaxed);
    header.last_ring.store(tail.last_ring, std::memory_order_relaxed);
    header.newest_utc_ns.store(static_cast<std::uint64_t>(tail.newest_utc_ns), std::memory_order_relaxed);
    // A reader compares the checksum only after it has seen `end`.
    header.end_crc.store(tail_crc(tail), std::memory_order_relaxed);
    header.oldest_utc_ns.store(static_cast<std::uint64_t>(tail.oldest_utc_ns), std::memory_order_relaxed);
    header.oldest_crc.store(oldest_crc(tail), std::memory_order_relaxed);
    header.end.store(tail.end, std::memory_order_release);  // sync "segment ended": read_tail
}

std::expected<ReadIdentity, std::string> read_identity(const SegmentHeader& header) {
    const auto magic = header.magic.load(std::memory_order_acquire);  // sync "segment started": SegmentWriter::begin
    Raw raw{header};
    const auto version = raw.layout_version();
    if (magic != kMagic) {
        if (raw.agrees() && raw.plausible())
            return ReadIdentity{raw.identity(), "the magic number in its header is damaged"};
        if (magic == 0) return std::unexpected{"not a journal segment: its header is empty"};
        return std::unexpected{"not a journal segment (wrong magic number)"};
    }
    if (raw.agrees()) {
        if (raw.plausible()) return ReadIdentity{raw.identity(), {}};
        if (version != kLayoutVersion) return std::unexpected{unknown_version(version)};
        return std::unexpected{"its header says " + std::to_string(raw.header_bytes()) + " bytes of header and " +
                               std::to_string(raw.words[1]) + " of segment, which no writer writes"};
    }
    if (const auto byte = repair(raw))
        return ReadIdentity{raw.identity(), "byte " + std::to_string(*byte) + " of its header is damaged"};
    if (version != kLayoutVersion) return std::unexpected{unknown_version(version)};
    return std::unexpected{"its header is damaged in more than one byte (checksum differs)"};
}

TailState read_tail(const SegmentHeader& header, const SegmentIdentity& identity, SegmentTail& into) noexcept {
    const auto end = header.end.load(std::memory_order_acquire);  // sync "segment ended": write_tail
    into = {.end = end,
            .next_record = header.next_record.load(std::memory_order_relaxed),
            .last_ring = header.last_ring.load(std::memory_order_relaxed),
            .newest_utc_ns = static_cast<std::int64_t>(header.newest_utc_ns.load(std::memory_order_relaxed)),
            .oldest_utc_ns = static_cast<std::int64_t>(header.oldest_utc_ns.load(std::memory_order_relaxed))};
    if (header.oldest_crc.load(std::memory_order_relaxed) != oldest_crc(into)) into.oldest_utc_ns = kTimeUnknown;
    if (end == 0) return TailState::none;
    const auto begin = data_offset(identity.segment_bytes);
    const bool possible = end >= begin && end <= identity.segment_bytes && end % 8 == 0 &&
                          into.next_record >= identity.first_record &&
                          into.next_record - identity.first_record <= (end - begin) / (kRecordHeadWords * 8);
    const bool agrees = header.end_crc.load(std::memory_order_relaxed) == tail_crc(into);
    return possible && agrees ? TailState::sound : TailState::damaged;
}

void write_needed_checkpoint(SegmentHeader& header, std::uint64_t record) noexcept {
    header.needed_checkpoint.store(record, std::memory_order_relaxed);
    header.needed_crc.store(needed_crc(record, header.first_record), std::memory_order_relaxed);
}

std::optional<std::uint64_t> read_needed_checkpoint(const SegmentHeader& header,
                                                    const SegmentIdentity& identity) noexcept {
    const auto record = header.needed_checkpoint.load(std::memory_order_relaxed);
    const auto crc = header.needed_crc.load(std::memory_order_relaxed);
    if (crc != needed_crc(record, identity.first_record)) return std::nullopt;
    return record;
}

std::uint64_t chain_word(std::uint64_t offset) noexcept {
    return offset / 8 | std::uint64_t{core::crc32c({&offset, 1})} << 32U;
}

std::optional<std::uint64_t> chain_offset(std::uint64_t word) noexcept {
    const auto offset = (word & kLowHalf) * 8;
    if (chain_word(offset) != word) return std::nullopt;
    return offset;
}

void write_place(IndexEntry& entry, const IndexedPlace& place) noexcept {
    entry.place.store(place.offset % kIndexBlockBytes | std::uint64_t{place_crc(place)} << 32U,
                      std::memory_order_relaxed);
    entry.ring.store(place.ring, std::memory_order_relaxed);
    entry.newest_utc_ns.store(static_cast<std::uint64_t>(place.newest_utc_ns), std::memory_order_relaxed);
    entry.record.store(place.record, std::memory_order_release);  // sync "place indexed": read_place
}

std::optional<IndexedPlace> read_place(const IndexEntry& entry, std::size_t block) noexcept {
    IndexedPlace place;
    place.record = entry.record.load(std::memory_order_acquire);  // sync "place indexed": write_place
    if (place.record == 0) return std::nullopt;
    const auto word = entry.place.load(std::memory_order_relaxed);
    place.ring = entry.ring.load(std::memory_order_relaxed);
    place.newest_utc_ns = static_cast<std::int64_t>(entry.newest_utc_ns.load(std::memory_order_relaxed));
    if ((word & kLowHalf) >= kIndexBlockBytes) return std::nullopt;
    place.offset = block * kIndexBlockBytes + (word & kLowHalf);
    if (place_crc(place) != word >> 32U) return std::nullopt;
    return place;
}

}  // namespace millpond::journal
