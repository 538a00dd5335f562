#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/fix/tag.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/fix/value.hpp>

namespace millpond::fix {

/// Text of a tag, including '='.
struct TagText {
    std::array<char, 16> chars{};
    std::size_t length{0};

    constexpr explicit TagText(Tag tag) noexcept {
        std::array<char, 10> digits{};
        std::size_t count = 0;
        do {
            digits[count++] = static_cast<char>('0' + tag % 10);
            tag /= 10;
        } while (tag != 0);
        while (count > 0) chars[length++] = digits[--count];
        chars[length++] = '=';
    }
};

/// Writes a message field by field into the caller's memory. The body is written in place; BeginString and BodyLength,
/// with as few digits as possible, are then written directly before it, so the message may begin a few bytes after the
/// start of the memory.
///
/// An error (memory full, a delimiter in a text) is sticky: `finish` then returns nullopt.
///
/// Threads: one. Memory: the caller's.
/// Source:  FIX 5.0 SP2, volume 1, "FIX tag=value message format".
class Writer {
public:
    /// begin_string: must outlive the writer.
    Writer(std::span<char> memory, std::string_view begin_string) noexcept;

    /// Like add, with the tag's text generated at compile time: `writer.add<tag::kClOrdId>("A1")`.
    template <Tag number, class Value>
    Writer& add(Value value) noexcept {
        static constexpr TagText kText{number};
        return put(kText, value);
    }
    template <class Value>
    Writer& add(Tag number, Value value) noexcept {
        return put(TagText{number}, value);
    }
    Writer& add_timestamp(Tag number, std::int64_t utc_ns, TimePrecision precision) noexcept {
        return put_timestamp(TagText{number}, utc_ns, precision);
    }
    template <Tag number>
    Writer& add_timestamp(std::int64_t utc_ns, TimePrecision precision) noexcept {
        static constexpr TagText kText{number};
        return put_timestamp(kText, utc_ns, precision);
    }
    /// Adds a length field and its data field; `data` may contain any byte.
    Writer& add_data(Tag length_tag, Tag data_tag, std::string_view data) noexcept;
    /// Adds encoded fields with their delimiters: a part of another message.
    Writer& add_fields(std::string_view fields) noexcept;

    /// Adds CheckSum, BeginString and BodyLength. Returns the whole message, or nullopt after an error.
    [[nodiscard]] std::optional<std::string_view> finish() noexcept;

private:
    static constexpr std::size_t kTrailerBytes = 7;
    static constexpr std::size_t kMaxNumberChars = 32;  // sign, point, twenty digits, and the spare bytes of a word

    [[nodiscard]] bool has_capacity(std::size_t bytes) noexcept;
    Writer& put(const TagText& text, std::string_view value) noexcept;
    Writer& put(const TagText& text, const char* value) noexcept { return put(text, std::string_view{value}); }
    Writer& put(const TagText& text, char value) noexcept { return put(text, std::string_view{&value, 1}); }
    Writer& put(const TagText& text, Decimal value) noexcept;
    template <std::same_as<bool> Bool>
    Writer& put(const TagText& text, Bool value) noexcept {
        return put(text, value ? 'Y' : 'N');
    }
    template <std::integral Int>
        requires(!std::same_as<Int, bool>)
    Writer& put(const TagText& text, Int value) noexcept {
        if constexpr (std::signed_integral<Int>) {
            return put_signed(text, value);
        } else {
            return put_unsigned(text, value);
        }
    }
    Writer& put_timestamp(const TagText& text, std::int64_t utc_ns, TimePrecision precision) noexcept;
    Writer& put_signed(const TagText& text, std::int64_t value) noexcept;
    void begin(const TagText& text) noexcept;
    Writer& end() noexcept;
    Writer& put_unsigned(const TagText& text, std::uint64_t value) noexcept;

    char* memory_;
    char* body_;  // first byte after the space for BeginString and BodyLength
    char* at_;
    char* limit_;  // the trailer still fits after it
    std::string_view begin_string_;
    std::size_t delimiters_{0};  // required number of delimiters after BodyLength
    bool failed_{false};
};

inline bool Writer::has_capacity(std::size_t bytes) noexcept {
    if (!failed_ && static_cast<std::size_t>(limit_ - at_) >= bytes) return true;
    failed_ = true;
    return false;
}

inline Writer& Writer::put(const TagText& text, std::string_view value) noexcept {
    if (!has_capacity(sizeof text.chars + value.size() + 1)) return *this;
    begin(text);
    at_ += value.copy(at_, value.size());
    return end();
}

/// Starts a field. Requires that it fits.
inline void Writer::begin(const TagText& text) noexcept {
    std::memcpy(at_, text.chars.data(), sizeof text.chars);
    at_ += text.length;
}

inline Writer& Writer::end() noexcept {
    *at_++ = '\x01';
    ++delimiters_;
    return *this;
}

}  // namespace millpond::fix
