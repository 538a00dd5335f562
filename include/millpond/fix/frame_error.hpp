#pragma once

#include <cstdint>
#include <string_view>

namespace millpond::fix {

/// Reason why bytes from a stream are not a FIX message, or not yet.
enum class FrameError : std::uint8_t {
    incomplete,        ///< More bytes are needed: keep them all and call again.
    not_a_message,     ///< The bytes do not start with 8=FIX: drop `skip` bytes.
    bad_body_length,   ///< Tag 9 is not a number, or does not lead to tag 10: drop `skip` bytes.
    too_long,          ///< BodyLength exceeds the limit: drop `skip` bytes.
    bad_message_type,  ///< The third field is not tag 35: drop the frame.
    bad_checksum,      ///< Tag 10 is not the byte sum modulo 256: drop the frame.
    bad_field,         ///< A field has no '=' or its tag is not a number: drop the frame.
    bad_data_length,   ///< A data field does not end where its length field says: drop the frame.
    too_many_fields,   ///< The memory for fields is full: provide more and parse the frame again.
};

[[nodiscard]] constexpr std::string_view name(FrameError error) noexcept {
    switch (error) {
        case FrameError::incomplete: return "incomplete";
        case FrameError::not_a_message: return "not a message";
        case FrameError::bad_body_length: return "bad BodyLength";
        case FrameError::too_long: return "longer than allowed";
        case FrameError::bad_message_type: return "MsgType is not the third field";
        case FrameError::bad_checksum: return "bad CheckSum";
        case FrameError::bad_field: return "bad field";
        case FrameError::bad_data_length: return "bad data length";
        case FrameError::too_many_fields: return "too many fields";
    }
    return "unknown";
}

}  // namespace millpond::fix
