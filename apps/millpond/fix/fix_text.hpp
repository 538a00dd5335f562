#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

/// FIX messages in text: a raw log of the engine, another log, or a captured stream.
namespace millpond::app {

/// One message, or bytes that begin like one and are none.
struct FoundMessage {
    std::string bytes;                     ///< With the byte 0x01 as delimiter, whatever the text had.
    std::optional<std::int64_t> utc_ns{};  ///< Of a raw log's line.
    std::string session{};                 ///< Likewise; else empty.
    char direction{' '};                   ///< Likewise: '<' came in, '>' went out.
    std::uint64_t line{0};                 ///< From 1 on.
};

/// Calls `found` for each message in the text, in order. The delimiter is what is between BeginString and
/// BodyLength: the byte 0x01, '|', ';', a blank, ^A, <SOH> or anything else of up to 8 characters. A message ends
/// behind its CheckSum; one without ends at its line's end or at the next 8=FIX. What a raw log says about losses goes
/// to `remark`.
void find_messages(std::istream& in, const std::function<void(const FoundMessage&)>& found,
                   const std::function<void(std::string_view)>& remark);

}  // namespace millpond::app
