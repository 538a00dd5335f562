#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/fix/writer.hpp>

namespace millpond::app {

/// A message of a script: its type and the fields of its body, in wire format.
struct ScriptMessage {
    static constexpr std::size_t kMaxBytes = 4096;

    std::array<char, 16> type{};
    std::uint16_t type_bytes{0};
    std::uint16_t body_bytes{0};
    std::array<char, kMaxBytes> body{};
};

/// Encodes a script message for the engine.
struct ScriptEncoder {
    [[nodiscard]] std::string_view msg_type(const ScriptMessage& message) const {
        return {message.type.data(), message.type_bytes};
    }
    [[nodiscard]] bool encode(const ScriptMessage& message, fix::Writer& writer) const {
        writer.add_fields({message.body.data(), message.body_bytes});
        return true;
    }
};

/// Reads a line like "35=D|11=a|55=MSFT|": '|', ^A or the byte 0x01 between fields. Fields that the session fills in
/// (8, 9, 34, 49, 52, 56, 10) are left out. Returns false for an empty line or one that begins with '#'. Throws
/// std::runtime_error with the reason.
[[nodiscard]] bool read_script_line(std::string_view line, ScriptMessage& message);

}  // namespace millpond::app
