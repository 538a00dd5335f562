#include "kept_numbers.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/core/crc32c.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/journal/catalog.hpp>

namespace millpond::journal {
namespace {

constexpr std::uint64_t kNumbersMagic = 0x00314D554E4A504DULL;  // "MPJNUM1\0"
constexpr std::size_t kNumberSlots = 2;

struct NumbersSlot {
    std::uint64_t magic;
    std::uint64_t writes;
    std::uint64_t ordinal;
    std::uint64_t next_record;
    std::uint64_t crc;
};
using NumbersWords = std::array<std::uint64_t, sizeof(NumbersSlot) / 8>;

std::uint64_t checksum_of(const NumbersSlot& slot) noexcept {
    NumbersWords words{};
    std::memcpy(words.data(), &slot, sizeof slot);
    return core::crc32c(std::span{words}.first(words.size() - 1));
}

/// Returns zeros if neither slot is valid.
NumbersSlot newest_slot(std::span<const std::byte> lock) noexcept {
    NumbersSlot newest{};
    for (std::size_t i = 0; i < kNumberSlots && (i + 1) * sizeof(NumbersSlot) <= lock.size(); ++i) {
        NumbersSlot slot{};
        std::memcpy(&slot, lock.data() + i * sizeof slot, sizeof slot);
        if (slot.magic == kNumbersMagic && slot.crc == checksum_of(slot) && slot.writes > newest.writes) newest = slot;
    }
    return newest;
}

}  // namespace

KeptNumbers read_numbers(std::span<const std::byte> lock) noexcept {
    const auto slot = newest_slot(lock);
    if (slot.writes == 0) return {};
    return {.ordinal = slot.ordinal, .next_record = slot.next_record};
}

std::uint64_t newest_started(const std::filesystem::path& folder) {
    const auto path = folder / kLockName;
    const core::Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    std::array<std::byte, kNumberSlots * sizeof(NumbersSlot)> bytes{};
    if (!file || ::pread(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return 0;
    return read_numbers(bytes).ordinal;
}

void write_numbers(std::span<std::byte> lock, const KeptNumbers& numbers) noexcept {
    NumbersSlot slot{.magic = kNumbersMagic,
                     .writes = newest_slot(lock).writes + 1,
                     .ordinal = numbers.ordinal,
                     .next_record = numbers.next_record,
                     .crc = 0};
    slot.crc = checksum_of(slot);
    auto* at = lock.data() + slot.writes % kNumberSlots * sizeof slot;
    constexpr auto kCrcAt = offsetof(NumbersSlot, crc);
    std::memcpy(at, &slot, kCrcAt);
    // Last: a reader that sees a valid slot also sees that its segment was started.
    std::atomic_ref{*reinterpret_cast<std::uint64_t*>(at + kCrcAt)}.store(slot.crc, std::memory_order_release);
}

}  // namespace millpond::journal
