#include <millpond/fix/frame.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>

#include <millpond/fix/detail/words.hpp>
#include <millpond/fix/msg_type.hpp>

namespace millpond::fix {
namespace {

constexpr char kSoh = '\x01';
constexpr std::string_view kBegin = "8=FIX";
constexpr std::size_t kTrailerBytes = 7;   // 10=ddd and the delimiter
constexpr std::size_t kMaxVersion = 16;    // bytes after 8=FIX up to its delimiter
constexpr std::size_t kMaxLength = 9;      // digits of BodyLength
constexpr std::size_t kMinUsual = 40;      // shortest message that is read in words
constexpr std::size_t kHeaderBytes = 256;  // MsgType and MsgSeqNum are within the first bytes of a message
constexpr auto kBegin4 = detail::word_of("8=FIX.4.");
constexpr auto kBeginT = detail::word_of("8=FIXT.1");
constexpr auto kTrailer = detail::word_of(
    "\x01"
    "10=000\x01");

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Index of the first 8=FIX at or after `from`, or of the start of one that the end may cut off.
std::size_t find_begin(std::string_view text, std::size_t from) noexcept {
    if (from >= text.size()) return text.size();
    const auto found = text.find(kBegin, from);
    if (found != std::string_view::npos) return found;
    for (auto keep = std::min(kBegin.size() - 1, text.size() - from); keep > 0; --keep) {
        if (text.ends_with(kBegin.substr(0, keep))) return text.size() - keep;
    }
    return text.size();
}

/// Whether the start of a message has complete MsgType and MsgSeqNum, or is so long that it has none.
bool has_header(std::string_view text, std::size_t body) noexcept {
    if (text.size() >= kHeaderBytes || text.find(kBegin, body) != std::string_view::npos) return true;
    const auto has = [&](std::string_view field) {
        const auto at = text.find(field);
        return at != std::string_view::npos && text.find(kSoh, at + field.size()) != std::string_view::npos;
    };
    return has(detail::kMsgTypeField) && has(detail::kMsgSeqNumField);
}

std::unexpected<BadFrame> incomplete() noexcept { return std::unexpected(BadFrame{.error = FrameError::incomplete}); }

std::unexpected<BadFrame> garbled(FrameError error, std::string_view text, std::size_t stated_end) noexcept {
    return std::unexpected(BadFrame{.error = error, .skip = find_begin(text, stated_end)});
}

/// Reads a complete frame of the usual form at the start. Returns false otherwise: the general code decides.
inline bool usual_frame(std::span<const std::byte> bytes, std::size_t max_bytes, Frame& frame) noexcept {
    if (bytes.size() < kMinUsual) return false;
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    const auto begin = detail::load_word(text);
    std::size_t version_end = 0;
    if (begin == kBegin4 && text[8] != kSoh && text[9] == kSoh) {
        version_end = 9;
    } else if (begin == kBeginT && text[8] != kSoh && text[9] != kSoh && text[10] == kSoh) {
        version_end = 10;
    } else {
        return false;
    }
    const auto* digits = text + version_end + 3;
    if (digits[-2] != '9' || digits[-1] != '=') return false;
    const auto length_chars = detail::chars_before(detail::load_word(digits), kSoh);
    if (length_chars == 0 || length_chars > 5) return false;
    bool ok = false;
    const std::size_t body_length = detail::digits_before(digits + length_chars, length_chars, ok);
    const auto body = version_end + 3 + length_chars + 1;
    const auto trailer = body + body_length;
    const auto size = trailer + kTrailerBytes;
    if (!ok || body_length < 5 || size > max_bytes || size > bytes.size()) return false;
    // |10=ddd| around the end of the body.
    const auto end = detail::load_word(text + trailer - 1) ^ kTrailer;
    constexpr auto kDigits = 0x00'0F'0F'0F'00'00'00'00ULL;
    if ((end & ~kDigits) != 0 || ((end + 0x00'06'06'06'00'00'00'00ULL) & 0x00'F0'F0'F0'00'00'00'00ULL) != 0) {
        return false;
    }
    if (text[body] != '3' || text[body + 1] != '5' || text[body + 2] != '=' || text[body + 3] == kSoh) return false;
    frame = {.bytes = bytes.first(size),
             .version_end = static_cast<std::uint32_t>(version_end),
             .body_offset = static_cast<std::uint32_t>(body),
             .trailer_offset = static_cast<std::uint32_t>(trailer)};
    return true;
}

}  // namespace

std::expected<Frame, BadFrame> next_frame(std::span<const std::byte> bytes, std::size_t max_bytes) noexcept {
    Frame usual;
    if (usual_frame(bytes, max_bytes, usual)) [[likely]]
        return usual;
    const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    if (!text.starts_with(kBegin)) {
        const auto begin = find_begin(text, 0);
        if (begin != 0) return std::unexpected(BadFrame{.error = FrameError::not_a_message, .skip = begin});
        return incomplete();
    }
    const auto version_end = text.substr(0, kBegin.size() + kMaxVersion).find(kSoh, kBegin.size());
    if (version_end == std::string_view::npos) {
        if (text.size() < kBegin.size() + kMaxVersion) return incomplete();
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
    while (at < text.size() && is_digit(text[at]) && at - digits_begin < kMaxLength) {
        body_length = body_length * 10 + static_cast<std::size_t>(text[at] - '0');
        ++at;
    }
    if (at == text.size()) return incomplete();
    if (text[at] != kSoh || at == digits_begin) return garbled(FrameError::bad_body_length, text, at);
    const auto body = at + 1;
    const auto trailer = body + body_length;
    const auto size = trailer + kTrailerBytes;
    if (size > max_bytes) {
        // Without MsgType and MsgSeqNum the message cannot be rejected.
        if (!has_header(text, body)) return incomplete();
        return std::unexpected(BadFrame{FrameError::too_long, find_begin(text, body), size});
    }
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
                 .version_end = static_cast<std::uint32_t>(version_end),
                 .body_offset = static_cast<std::uint32_t>(body),
                 .trailer_offset = static_cast<std::uint32_t>(trailer)};
}

}  // namespace millpond::fix
