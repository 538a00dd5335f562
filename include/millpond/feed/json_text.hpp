#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <millpond/core/json_string.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Maximum length of an event's JSON, including a newline and the bytes that the writers overwrite after it.
inline constexpr std::size_t kMaxJsonBytes = 640;

/// A symbol as a JSON string, quoted and escaped, and the decimals of its prices; made once per instrument and copied
/// into each of its lines.
///
/// Control characters, quotes, backslashes and bytes over 0x7E become escapes, so that the text is ASCII, whatever
/// bytes the symbol has.
///
/// Memory: 208 bytes, no allocation.
/// Source: RFC 8259, section 7.
class JsonSymbol {
public:
    JsonSymbol() noexcept : JsonSymbol(Symbol{}) {}
    explicit JsonSymbol(const Symbol& symbol, unsigned decimals = kDefaultDecimals) noexcept;

    [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }
    [[nodiscard]] unsigned decimals() const noexcept { return decimals_; }

    /// Copies the text and returns its end; overwrites up to 32 bytes after it.
    char* write(char* out) const noexcept {
        constexpr std::size_t kShort = 32;
        std::memcpy(out, text_.data(), kShort);  // a fixed length avoids a call; nearly every symbol is that short
        if (size_ > kShort) std::memcpy(out + kShort, text_.data() + kShort, size_ - kShort);
        return out + size_;
    }

private:
    static constexpr std::size_t kEscapeChars = 6;

    std::uint32_t size_{0};
    std::uint32_t decimals_;
    std::array<char, Symbol::capacity() * kEscapeChars + 2 + 6> text_{};
};

inline JsonSymbol::JsonSymbol(const Symbol& symbol, unsigned decimals) noexcept : decimals_(decimals) {
    const auto put = [this](char c) { text_[size_++] = c; };
    put('"');
    for (const char c : symbol.view()) core::put_json_byte(c, put);
    put('"');
}

namespace detail {

/// Copies a literal and returns its end.
template <std::size_t N>
inline char* put(char* out, const char (&literal)[N]) noexcept {
    std::memcpy(out, literal, N - 1);
    return out + (N - 1);
}

inline char* put(char* out, std::string_view text) noexcept {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

}  // namespace detail

}  // namespace millpond::feed
