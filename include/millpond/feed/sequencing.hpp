#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <millpond/core/fixed_string.hpp>

namespace millpond::feed {

/// Describes how a decoder's format numbers its datagrams; each decoder's header specializes it. `read` returns the
/// numbers, or nullopt if the headers cannot be read; `is_whole` checks the whole datagram; `name_of` returns the
/// SessionName of a session. A format whose sessions begin with message 1 has `announce`, which writes a heartbeat that
/// announces message 1; one with re-request servers has `request`, which returns the bytes of a request,
/// `test_request` if they answer tests, and `segment_length` if they also answer by TCP. Formats without sequence
/// numbers have no Sequencing.
template <class Decoder>
struct Sequencing;

/// A session's name, for display.
using SessionName = core::FixedString<24>;

/// Name of a session that is a number.
[[nodiscard]] inline SessionName number_name(std::uint64_t number) noexcept {
    std::array<char, SessionName::capacity()> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return SessionName{std::string_view{digits.data(), end}};
}

template <class Decoder>
concept Sequenced = requires { typename Sequencing<Decoder>::Session; };

}  // namespace millpond::feed
