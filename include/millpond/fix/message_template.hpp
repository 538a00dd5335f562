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

/// An encoded message in which a few values of fixed width change from send to send: MsgSeqNum with leading zeros,
/// times, prices and quantities of fixed width, ids of fixed length. BodyLength never changes; CheckSum takes one pass
/// over the bytes.
///
/// Threads: one.
/// Memory:  the message's bytes, allocated once from `memory`.
class MessageTemplate {
public:
    /// Position of a value; found once, used for every send.
    struct Slot {
        std::uint32_t offset{0};
        std::uint32_t width{0};
    };

    /// message: complete, as written by Writer. Throws std::invalid_argument if it is not a valid message.
    explicit MessageTemplate(std::string_view message,
                             std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// First field with this tag; nullopt if there is none, or for BeginString, BodyLength and CheckSum.
    [[nodiscard]] std::optional<Slot> slot(Tag tag) const;

    /// Replaces the value in the slot. Returns false and changes nothing if the text does not have the slot's width or
    /// contains a delimiter.
    [[nodiscard]] bool patch(Slot slot, std::string_view text) noexcept;
    /// Writes a number with leading zeros. Returns false and changes nothing if the number has more digits than the
    /// slot.
    [[nodiscard]] bool patch_number(Slot slot, std::uint64_t value) noexcept;
    /// Writes a time. Returns false and changes nothing if the slot does not have the precision's width.
    [[nodiscard]] bool patch_timestamp(Slot slot, std::int64_t utc_ns, TimePrecision precision) noexcept;

    /// The message with all changes; valid until the next change.
    [[nodiscard]] std::string_view bytes() noexcept;

private:
    std::pmr::vector<char> bytes_;
};

}  // namespace millpond::fix
