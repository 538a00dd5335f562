#pragma once

#include <cstdint>
#include <string_view>

namespace millpond::fix {

/// Why bytes from a stream are no FIX message (yet).
enum class FrameError : std::uint8_t {
    incomplete,        ///< Need more bytes: keep them all and call again.
    not_a_message,     ///< Bytes that do not start with 8=FIX: drop as many as `skip` says.
    bad_body_length,   ///< Tag 9 is no number, too large, or does not lead to tag 10: drop as many as `skip` says.
    bad_message_type,  ///< The third field is not tag 35: drop the frame.
    bad_checksum,      ///< Tag 10 is not the byte sum modulo 256: drop the frame.
    bad_field,         ///< A field without '=' or with a tag that is no number: drop the frame.
    bad_data_length,   ///< A data field does not end where its length field says: drop the frame.
    too_many_fields,   ///< The memory given for fields is full: give more and parse the frame again.
};

[[nodiscard]] constexpr std::string_view name(FrameError error) noexcept {
    switch (error) {
        case FrameError::incomplete: return "incomplete";
        case FrameError::not_a_message: return "not a message";
        case FrameError::bad_body_length: return "bad BodyLength";
        case FrameError::bad_message_type: return "MsgType is not the third field";
        case FrameError::bad_checksum: return "bad CheckSum";
        case FrameError::bad_field: return "bad field";
        case FrameError::bad_data_length: return "bad data length";
        case FrameError::too_many_fields: return "too many fields";
    }
    return "unknown";
}

}  // namespace millpond::fix
