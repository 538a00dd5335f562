#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

#include <millpond/fix/tag.hpp>
#include <millpond/fix/utc_time.hpp>

namespace millpond::fix {

/// A whole message of which a few values change from send to send, each keeping its width: MsgSeqNum with leading
/// zeros, times, prices and quantities of fixed width, ids of fixed length. BodyLength then never changes; CheckSum is
/// one pass over the bytes.
///
/// Threads: one.
/// Memory:  the message's bytes, taken once from `memory`.
class MessageTemplate {
public:
    /// Position of a value; created once, used for every send.
    struct Slot {
        std::uint32_t offset{0};
        std::uint32_t width{0};
    };

    /// message: complete, as written by Writer. Throws std::invalid_argument if it is not a valid message.
    explicit MessageTemplate(std::string_view message,
                             std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// The first field with this tag; nothing when the message has none. BeginString, BodyLength and CheckSum are no
    /// slots.
    [[nodiscard]] std::optional<Slot> slot(Tag tag) const;

    /// False, and nothing changes, when the text has not the slot's width or holds a delimiter.
    [[nodiscard]] bool patch(Slot slot, std::string_view text) noexcept;
    /// With leading zeros. False, and nothing changes, when it has more digits than the slot.
    [[nodiscard]] bool patch_number(Slot slot, std::uint64_t value) noexcept;
    /// False, and nothing changes, when the slot has not the precision's width.
    [[nodiscard]] bool patch_timestamp(Slot slot, std::int64_t utc_ns, TimePrecision precision) noexcept;

    /// The message with all patches; valid until the next one.
    [[nodiscard]] std::string_view bytes() noexcept;

private:
    std::pmr::vector<char> bytes_;
};

}  // namespace millpond::fix
