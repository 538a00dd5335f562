#include <millpond/fix/frame.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace millpond::fix {
namespace {

constexpr char kSoh = '\x01';
constexpr std::string_view kBegin = "8=FIX";
constexpr std::size_t kTrailerBytes = 7;     // 10=ddd and the delimiter
constexpr std::size_t kLongestVersion = 16;  // bytes after 8=FIX up to its delimiter
constexpr std::size_t kLongestLength = 9;    // digits of BodyLength

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Index of the first 8=FIX at or after `from`, or of the start of a possible one that the end cuts off.
std::size_t find_begin(std::string_view text, std::size_t from) noexcept {
    if (from >= text.size()) return text.size();
    const auto found = text.find(kBegin, from);
    if (found != std::string_view::npos) return found;
    for (auto keep = std::min(kBegin.size() - 1, text.size() - from); keep > 0; --keep) {
        if (text.ends_with(kBegin.substr(0, keep))) return text.size() - keep;
    }
    return text.size();
}

std::unexpected<BadFrame> incomplete() noexcept { return std::unexpected(BadFrame{FrameError::incomplete, 0}); }

std::unexpected<BadFrame> garbled(FrameError error, std::string_view text, std::size_t stated_end) noexcept {
    return std::unexpected(BadFrame{error, find_begin(text, stated_end)});
}

}  // namespace

std::expected<Frame, BadFrame> next_frame(std::span<const std::byte> bytes, std::size_t max_bytes) noexcept {
    const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    if (!text.starts_with(kBegin)) {
        const auto begin = find_begin(text, 0);
        if (begin != 0) return std::unexpected(BadFrame{FrameError::not_a_message, begin});
        return incomplete();
    }
    const auto version_end = text.substr(0, kBegin.size() + kLongestVersion).find(kSoh, kBegin.size());
    if (version_end == std::string_view::npos) {
        if (text.size() < kBegin.size() + kLongestVersion) return incomplete();
        return garbled(FrameError::not_a_message, text, kBegin.size());
    }
    auto at = version_end + 1;
    if (text.size() < at + 2) {
        if (text.size() == at + 1 && text[at] != '9') return garbled(FrameError::bad_body_length, text, at);
        return incomplete();
    }
    if (text[at] != '9' || text[at + 1] != '=') return garbled(FrameError::bad_body_length, text, at);
    at += 2;
    const auto digits_begin = at;
    std::size_t body_length = 0;
    while (at < text.size() && is_digit(text[at]) && at - digits_begin < kLongestLength) {
        body_length = body_length * 10 + static_cast<std::size_t>(text[at] - '0');
        ++at;
    }
    if (at == text.size()) return incomplete();
    if (text[at] != kSoh || at == digits_begin) return garbled(FrameError::bad_body_length, text, at);
    const auto body = at + 1;
    const auto trailer = body + body_length;
    const auto size = trailer + kTrailerBytes;
    if (size > max_bytes) return garbled(FrameError::bad_body_length, text, body);
    if (text.size() < size) return incomplete();
    const auto* end = text.data() + trailer;
    const bool has_trailer = end[-1] == kSoh && std::memcmp(end, "10=", 3) == 0 && is_digit(end[3]) &&
                             is_digit(end[4]) && is_digit(end[5]) && end[6] == kSoh;
    if (!has_trailer) return garbled(FrameError::bad_body_length, text, trailer);
    // Shortest body is 35=A and its delimiter.
    if (body_length < 5 || text.substr(body, 3) != "35=" || text[body + 3] == kSoh) {
        return garbled(FrameError::bad_message_type, text, size);
    }
    return Frame{.bytes = bytes.first(size),
                 .body_offset = static_cast<std::uint32_t>(body),
                 .trailer_offset = static_cast<std::uint32_t>(trailer)};
}

}  // namespace millpond::fix
