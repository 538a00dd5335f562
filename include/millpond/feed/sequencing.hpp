#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <millpond/core/fixed_string.hpp>

namespace millpond::feed {

/// How a decoder's format numbers its datagrams; each decoder's header has its own. `read` gives nothing for what no
/// header can be read of; `is_whole` looks at all of it; `name_of` is a session's SessionName. A format whose sessions
/// begin with message 1 has `announce`, which writes a heartbeat that says so. A format with several channels in one
/// group has `same_channel`. Formats without sequence numbers have no Sequencing.
template <class Decoder>
struct Sequencing;

/// A session, for people.
using SessionName = core::FixedString<24>;

/// Of a session that is a number.
[[nodiscard]] inline SessionName number_name(std::uint64_t number) noexcept {
    std::array<char, SessionName::capacity()> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return SessionName{std::string_view{digits.data(), end}};
}

template <class Decoder>
concept Sequenced = requires { typename Sequencing<Decoder>::Session; };

}  // namespace millpond::feed
