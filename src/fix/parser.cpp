#include <millpond/fix/parser.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include <millpond/core/endian.hpp>

namespace millpond::fix {
namespace {

using detail::FieldLayout;
using detail::kScanBytes;

constexpr char kSoh = '\x01';
constexpr std::size_t kWordBytes = 64;
constexpr std::size_t kLongestRememberedTag = 7;  // with its '=' it fills a 64-bit word
constexpr std::size_t kLongestTag = 9;
constexpr unsigned kMissesUntilRelearned = 2;

/// Stands for "no error" inside the parser; a frame is complete by definition.
constexpr FrameError kFine = FrameError::incomplete;

std::uint64_t load_word(const char* at) noexcept {
    return core::load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(at));
}

/// The last `length` bytes (1 to 8) before `end` as decimal digits; false in `ok` when one is none. Eight bytes before
/// `end` are readable.
std::uint32_t digits_before(const char* end, std::size_t length, bool& ok) noexcept {
    const auto keep = ~std::uint64_t{0} << (8 * (8 - length));
    const auto word = (load_word(end - 8) ^ 0x3030303030303030ULL) & keep;
    // A digit is 0..9 now: neither its high half nor that of the digit plus six is set.
    ok = ((word | (word + 0x0606060606060606ULL)) & 0xF0F0F0F0F0F0F0F0ULL) == 0;
    const auto pairs = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FFULL;
    const auto fours = (pairs * 100 + (pairs >> 16)) & 0x0000FFFF0000FFFFULL;
    return static_cast<std::uint32_t>(fours * 10'000 + (fours >> 32));
}

struct TagReading {
    Tag tag{tag::kInvalid};
    bool is_number{false};
};

/// "-1" and "035" are numbers, but no valid tags.
TagReading read_tag(const char* begin, std::size_t length) noexcept {
    if (length == 0) return {};
    bool digits = false;
    if (length <= 8) {
        const auto value = digits_before(begin + length, length, digits);
        if (digits) return {*begin == '0' ? tag::kInvalid : value, true};
    }
    const auto value = parse_int({begin, length});
    if (!value) return {};
    const bool valid = *value > 0 && length <= kLongestTag && *begin != '0';
    return {valid ? static_cast<Tag>(*value) : tag::kInvalid, true};
}

std::uint32_t msg_type_key(std::string_view type) noexcept {
    std::uint32_t key = 0;
    std::memcpy(&key, type.data(), std::min(type.size(), sizeof key));
    return key;
}

}  // namespace

struct Parser::Cursor {
    const char* data{nullptr};
    std::size_t begin{0};         // of the field that is being read
    std::size_t earliest_end{0};  // delimiters before it belong to BeginString, BodyLength or a data field's value
    std::size_t end{0};           // of the body: where 10= begins
    std::size_t piece{0};         // first byte of the piece that masks_ tells of
    Field* fields{nullptr};
    std::size_t count{0};
    std::size_t capacity{0};
    std::span<Field> spill;
    Tag data_tag{0};  // the data field that the field before announced, and its length
    std::uint64_t data_length{0};
    FieldLayout* layout{nullptr};
    std::size_t layout_at{0};
    bool as_remembered{true};
    std::uint32_t sum{0};
};

Parser::Parser(const Options& options)
    : data_fields_(options.data_fields),
      scan_(detail::scan_function(options.instruction_set)),
      fields_(kFields, options.memory),
      layouts_(kLayouts, options.memory) {
    for (auto& layout : layouts_) layout.clear(0);
}

std::expected<Message, FrameError> Parser::parse(const Frame& frame, std::span<Field> spill) noexcept {
    Cursor cursor{.data = reinterpret_cast<const char*>(frame.bytes.data()),
                  .begin = frame.body_offset,
                  .earliest_end = frame.body_offset,
                  .end = frame.trailer_offset,
                  .fields = fields_.data(),
                  .count = 2,
                  .capacity = kFields,
                  .spill = spill};
    const std::string_view bytes{cursor.data, frame.bytes.size()};
    // 8=FIX.4.4|9=63|: where the first delimiter is, the second field's value begins three bytes behind it.
    const auto version_end = static_cast<std::uint32_t>(bytes.find(kSoh));
    fields_[0] = {tag::kBeginString, 2, version_end - 2};
    fields_[1] = {tag::kBodyLength, version_end + 3, frame.body_offset - version_end - 4};

    const auto type_begin = frame.body_offset + 3;
    const auto key = msg_type_key(bytes.substr(type_begin, bytes.find(kSoh, type_begin) - type_begin));
    cursor.layout = &layouts_[(key * 0x9E3779B1U) >> (32 - std::bit_width(kLayouts - 1))];
    if (cursor.layout->msg_type() != key) cursor.layout->clear(key);
    cursor.layout_at = 2;

    const auto error = scan_fields(cursor);
    if (error != kFine) return std::unexpected(error);
    const auto* trailer = cursor.data + cursor.end + 3;
    const auto stated =
        static_cast<std::uint32_t>((trailer[0] - '0') * 100 + (trailer[1] - '0') * 10 + trailer[2] - '0');
    if (stated != cursor.sum % 256) return std::unexpected(FrameError::bad_checksum);
    if (cursor.begin != cursor.end) return std::unexpected(FrameError::bad_data_length);
    if (cursor.count == cursor.capacity && !grow(cursor)) return std::unexpected(FrameError::too_many_fields);
    cursor.fields[cursor.count++] = {tag::kCheckSum, frame.trailer_offset + 3, 3};

    auto& layout = *cursor.layout;
    const bool whole = cursor.count == layout.size() ||
                       (layout.size() == FieldLayout::kCapacity && cursor.count > FieldLayout::kCapacity);
    const bool matched = cursor.as_remembered && whole;
    if (matched) {
        layout.matched();
    } else if (layout.size() == 0 || layout.missed() >= kMissesUntilRelearned) {
        remember(cursor, layout);
    }
    return Message{bytes, {cursor.fields, cursor.count}, matched ? &layout : nullptr};
}

FrameError Parser::scan_fields(Cursor& cursor) noexcept {
    for (cursor.piece = 0; cursor.piece < cursor.end; cursor.piece += kScanBytes) {
        const auto size = std::min(kScanBytes, cursor.end - cursor.piece);
        cursor.sum += scan_(cursor.data + cursor.piece, size, masks_);
        for (std::size_t word = 0; word * kWordBytes < size; ++word) {
            auto bits = masks_.delimiters[word];
            const auto base = cursor.piece + word * kWordBytes;
            while (bits != 0) {
                const auto end = base + static_cast<std::size_t>(std::countr_zero(bits));
                bits &= bits - 1;
                if (end < cursor.earliest_end) continue;
                const auto error = take_field(cursor, end);
                if (error != kFine) return error;
            }
        }
    }
    return kFine;
}

/// Reads the field that ends at `end`, or leaves it for a later delimiter when it is a data field that goes on.
inline FrameError Parser::take_field(Cursor& cursor, std::size_t end) noexcept {
    const auto* field = cursor.data + cursor.begin;
    Tag tag = tag::kInvalid;
    Tag announces = 0;
    std::size_t value = 0;
    const bool may_guess = cursor.layout_at < cursor.layout->size();
    const auto& guess = cursor.layout->entry(may_guess ? cursor.layout_at : 0);
    // Eight bytes from the field's first one are readable: the trailer stands behind the body.
    const bool guessed = may_guess && guess.length != 0 && ((load_word(field) ^ guess.text) & guess.mask) == 0;
    if (guessed) {
        tag = guess.tag;
        announces = guess.data_tag;
        value = cursor.begin + guess.length;
        ++cursor.layout_at;
    } else {
        const char* equals = nullptr;
        if (cursor.begin >= cursor.piece) {
            auto at = (cursor.begin - cursor.piece) / kWordBytes;
            const auto last = (end - cursor.piece) / kWordBytes;
            auto bits = masks_.equals[at] & (~std::uint64_t{0} << ((cursor.begin - cursor.piece) % kWordBytes));
            while (bits == 0 && at < last) bits = masks_.equals[++at];
            if (bits != 0) {
                equals =
                    cursor.data + cursor.piece + at * kWordBytes + static_cast<std::size_t>(std::countr_zero(bits));
            }
        } else {
            equals = static_cast<const char*>(std::memchr(field, '=', end - cursor.begin));
        }
        if (equals == nullptr || equals >= cursor.data + end) return FrameError::bad_field;
        const auto reading = read_tag(field, static_cast<std::size_t>(equals - field));
        if (!reading.is_number) return FrameError::bad_field;
        tag = reading.tag;
        announces = data_fields_.data_of(tag);
        value = static_cast<std::size_t>(equals - cursor.data) + 1;
        // What stands behind a full layout was never remembered, so it cannot differ from it.
        if (cursor.count < cursor.layout->size() || cursor.layout->size() < FieldLayout::kCapacity) {
            cursor.as_remembered = false;
        }
        const auto known = cursor.layout->index_of(tag);
        if (known != FieldLayout::kNone) cursor.layout_at = known + 1;
    }
    if (cursor.data_tag != 0) {
        if (tag == cursor.data_tag) {
            const auto data_end = value + cursor.data_length;
            if (data_end < end || data_end >= cursor.end || cursor.data[data_end] != kSoh) {
                return FrameError::bad_data_length;
            }
            if (data_end > end) {
                // Read it again at the delimiter where it ends.
                cursor.earliest_end = data_end;
                if (guessed) --cursor.layout_at;
                return kFine;
            }
        }
        cursor.data_tag = 0;
    }
    if (announces != 0) {
        const auto length = parse_unsigned({cursor.data + value, end - value});
        if (length) {
            cursor.data_tag = announces;
            cursor.data_length = std::min<std::uint64_t>(*length, cursor.end);  // beyond the end is all one
        }
    }
    if (cursor.count == cursor.capacity && !grow(cursor)) return FrameError::too_many_fields;
    cursor.fields[cursor.count++] = {tag, static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(end - value)};
    cursor.begin = end + 1;
    cursor.earliest_end = end + 1;
    return kFine;
}

bool Parser::grow(Cursor& cursor) noexcept {
    if (cursor.spill.size() <= cursor.count) return false;
    std::copy_n(cursor.fields, cursor.count, cursor.spill.data());
    cursor.fields = cursor.spill.data();
    cursor.capacity = cursor.spill.size();
    return true;
}

void Parser::remember(const Cursor& cursor, detail::FieldLayout& layout) noexcept {
    layout.clear(layout.msg_type());
    std::size_t previous_end = 0;
    for (std::size_t i = 0; i < cursor.count; ++i) {
        const auto& field = cursor.fields[i];
        const auto length = field.offset - previous_end;
        FieldLayout::Entry entry{.tag = field.tag, .data_tag = data_fields_.data_of(field.tag)};
        if (length <= kLongestRememberedTag + 1 && field.tag != tag::kInvalid) {
            entry.mask = ~std::uint64_t{0} >> (8 * (8 - length));
            std::array<char, 8> text{};
            std::memcpy(text.data(), cursor.data + previous_end, length);
            entry.text = load_word(text.data());
            entry.length = static_cast<std::uint8_t>(length);
        }
        if (!layout.add(entry)) return;
        previous_end = std::size_t{field.offset} + field.length + 1;
    }
}

}  // namespace millpond::fix
