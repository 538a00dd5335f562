#include <millpond/fix/parser.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include <millpond/fix/detail/words.hpp>

namespace millpond::fix {
namespace {

using detail::FieldLayout;
using detail::kScanBytes;
using detail::TagCache;

constexpr char kSoh = '\x01';
constexpr std::size_t kWordBytes = 64;
constexpr std::size_t kMaxTag = 9;

/// Means "no error" inside the parser; a frame is complete by definition.
constexpr FrameError kFine = FrameError::incomplete;

struct TagReading {
    Tag tag{tag::kInvalid};
    bool is_number{false};
};

/// Parses a tag. "-1" and "035" are numbers, but not valid tags.
TagReading read_tag(const char* begin, std::size_t length) noexcept {
    if (length == 0) return {};
    bool digits = false;
    if (length <= 8) {
        const auto value = detail::digits_before(begin + length, length, digits);
        if (digits) return {*begin == '0' ? tag::kInvalid : value, true};
    }
    const auto value = parse_int({begin, length});
    if (!value) return {};
    const bool valid = *value > 0 && length <= kMaxTag && *begin != '0';
    return {valid ? static_cast<Tag>(*value) : tag::kInvalid, true};
}

/// Packs the first characters of MsgType, up to four, into a number.
std::uint32_t msg_type_key(const char* type) noexcept {
    const auto word = detail::load_word(type);
    const auto length = std::min<std::size_t>(detail::chars_before(word, kSoh), 4);
    return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << (8 * length)) - 1));
}

std::uint32_t stated_sum(const char* trailer) noexcept {
    const auto digit = [trailer](std::size_t i) { return static_cast<std::uint32_t>(trailer[i] - '0'); };
    return digit(3) * 100 + digit(4) * 10 + digit(5);
}

/// Sum of the trailer's constant bytes: 10= and the delimiter.
std::uint32_t sum_of_trailer(const char* trailer) noexcept {
    const auto byte = [trailer](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(trailer[i])}; };
    return '1' + '0' + '=' + kSoh + byte(3) + byte(4) + byte(5);
}

/// Sum of a few bytes, eight or more.
std::uint32_t sum_of_front(const char* bytes, std::size_t size) noexcept {
    const auto sum_of = [](std::uint64_t word) {
        const auto pairs = (word & 0x00FF00FF00FF00FFULL) + ((word >> 8) & 0x00FF00FF00FF00FFULL);
        return static_cast<std::uint32_t>((pairs * 0x0001000100010001ULL) >> 48);
    };
    std::uint32_t sum = 0;
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) sum += sum_of(detail::load_word(bytes + at));
    if (at != size) sum += sum_of(detail::load_word(bytes + size - 8) >> (8 * (at + 8 - size)));
    return sum;
}

}  // namespace

struct Parser::Cursor {
    const char* data{nullptr};
    std::size_t begin{0};         // start of the current field
    std::size_t earliest_end{0};  // delimiters before it belong to BeginString, BodyLength or a data field's value
    std::size_t end{0};           // end of the body: start of 10=
    std::size_t piece{0};         // first byte of the piece that masks_ describes
    Field* fields{nullptr};
    std::size_t count{0};
    std::size_t capacity{0};
    std::span<Field> spill;
    Tag data_tag{0};  // the data field that the previous field announced, and its length
    std::uint64_t data_length{0};
    std::uint32_t sum{0};
};

Parser::Parser(const Options& options)
    : data_fields_(options.data_fields),
      scan_(detail::scan_function(options.instruction_set)),
      list_(detail::list_function(options.instruction_set)),
      compare_(detail::compare_function(options.instruction_set)),
      fields_(kFields, options.memory),
      layouts_(kLayouts, options.memory) {}

std::expected<Message, FrameError> Parser::parse(const Frame& frame, std::span<Field> spill) noexcept {
    const auto size = frame.bytes.size();
    if (size > kScanBytes) return parse_any(frame, spill);
    const auto* data = reinterpret_cast<const char*>(frame.bytes.data());
    const auto* trailer = data + frame.trailer_offset;
    const auto key = msg_type_key(data + frame.body_offset + 3);
    auto& layout = layouts_[(key * 0x9E3779B1U) >> (32 - std::bit_width(kLayouts - 1))];
    if (layout.msg_type() != key) layout.begin_type(key);
    if (layout.shape().may_fit(data + frame.body_offset, frame.trailer_offset - frame.body_offset)) {
        std::uint32_t sum = 0;
        const auto message = read_in_place(frame, layout, sum);
        if (message) {
            if (stated_sum(trailer) != (sum & 0xFFU)) return std::unexpected(FrameError::bad_checksum);
            return *message;
        }
    }
    const auto found = list_(data, size, ends_);
    if (stated_sum(trailer) != ((found.sum - sum_of_trailer(trailer)) & 0xFFU)) {
        return std::unexpected(FrameError::bad_checksum);
    }
    if (found.count > kFields) return parse_any(frame, spill);
    const std::span fields{fields_.data(), found.count};
    const auto* index = &layout.index();
    fields.back() = {tag::kCheckSum, frame.trailer_offset + 3, 3};
    // A message with fewer group instances at its end has the same start.
    if (may_be_remembered(data, found.count, layout) && read_as_remembered(data, found.count, layout)) {
        layout.patience().matched();
        auto& shape = layout.shape();
        if (fields.size() > shape.count() || shape.patience().missed()) shape.remember(data, frame.body_offset, fields);
    } else {
        if (!read_in_any_order(data, found.count)) return parse_any(frame, spill);
        index = &index_;
        if (found.count <= FieldLayout::kCapacity && (layout.size() == 0 || layout.patience().missed())) {
            remember(data, found.count, layout);
        }
    }
    return Message{{data, size}, fields, index};
}

/// Reads a message whose fields have the same positions as in the cached shape. sum: receives the sum of the bytes
/// before CheckSum.
std::optional<Message> Parser::read_in_place(const Frame& frame, FieldLayout& layout, std::uint32_t& sum) noexcept {
    auto& shape = layout.shape();
    const auto* data = reinterpret_cast<const char*>(frame.bytes.data());
    const auto size = frame.trailer_offset - frame.body_offset;
    const auto found = compare_(data + frame.body_offset, size, shape.text(), shape.mask());
    if (!found.same) return std::nullopt;
    sum = found.sum + sum_of_front(data, frame.body_offset);
    shape.patience().matched();
    layout.patience().matched();
    if (size == shape.size() && frame.body_offset == shape.body_offset()) {
        return Message{{data, frame.bytes.size()}, {shape.fields(), shape.count()}, &layout.index()};
    }
    const auto count = shape.fields_before(size);
    const auto further = frame.body_offset - shape.body_offset();  // modulo 2^32
    fields_[0] = {tag::kBeginString, 2, frame.version_end - 2};
    fields_[1] = {tag::kBodyLength, frame.version_end + 3, frame.body_offset - frame.version_end - 4};
    for (std::size_t i = 2; i < count; ++i) {
        const auto& field = shape.fields()[i];
        fields_[i] = {field.tag, field.offset + further, field.length};
    }
    fields_[count] = {tag::kCheckSum, frame.trailer_offset + 3, 3};
    return Message{{data, frame.bytes.size()}, {fields_.data(), count + 1}, &layout.index()};
}

/// Compares one tag in the middle first: if the order differs, comparing the others would be wasted.
bool Parser::may_be_remembered(const char* data, std::uint32_t count, const FieldLayout& layout) const noexcept {
    if (count > layout.size()) return false;
    const auto middle = count / 2;
    const auto& entry = layout.entries()[middle];
    const auto begin = std::uint32_t{ends_[middle - 1]} + 1;
    return ((detail::load_word(data + begin) ^ entry.text) & entry.mask) == 0;
}

/// Reads all fields except the last: that one is known, and no whole word can be read after it.
bool Parser::read_as_remembered(const char* data, std::uint32_t count, const FieldLayout& layout) noexcept {
    const auto* entry = layout.entries();
    auto* field = fields_.data();
    std::uint64_t differs = 0;
    std::uint32_t begin = 0;
    for (std::uint32_t i = 0; i + 1 < count; ++i, ++entry, ++field) {
        const std::uint32_t end = ends_[i];
        const auto value = begin + entry->length;
        differs |= (detail::load_word(data + begin) ^ entry->text) & entry->mask;
        *field = {entry->tag, value, end - value};
        begin = end + 1;
    }
    return differs == 0;
}

/// Like read_in_place, for unknown tags. Returns false without effect if a tag is not a number or is long, or a field
/// may be a length field.
bool Parser::read_in_any_order(const char* data, std::uint32_t count) noexcept {
    index_.clear();
    auto* field = fields_.data();
    std::uint32_t begin = 0;
    for (std::uint32_t i = 0; i + 1 < count; ++i, ++field) {
        const std::uint32_t end = ends_[i];
        const auto word = detail::load_word(data + begin);
        const auto length = static_cast<std::uint32_t>(detail::chars_before(word, '='));
        const auto key = TagCache::key_of(word, length);
        auto tag = tags_.find(key, length);
        if (tag == tag::kInvalid) [[unlikely]] {
            tag = new_tag(word, length);
            if (tag == tag::kInvalid) return false;
            tags_.add(key, length, tag);
        }
        index_.add(tag, i);
        const auto value = begin + length + 1;
        *field = {tag, value, end - value};
        begin = end + 1;
    }
    index_.add(tag::kCheckSum, count - 1);
    return true;
}

/// Parses the tag at the start of the word. Returns tag::kInvalid if there is none, or if it is long or may announce
/// data.
Tag Parser::new_tag(std::uint64_t word, std::uint32_t length) const noexcept {
    if (length == 0 || length > TagCache::kMaxLength || (word & 0xFFU) == '0') return tag::kInvalid;
    const auto values = TagCache::key_of(word ^ 0x3030303030303030ULL, length);
    if (!detail::are_digits(values)) return tag::kInvalid;
    const Tag tag = detail::number_of(values);
    return data_fields_.may_announce(tag) ? tag::kInvalid : tag;
}

void Parser::remember(const char* data, std::uint32_t count, FieldLayout& layout) noexcept {
    layout.clear();
    std::uint32_t begin = 0;
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
        const auto& field = fields_[i];
        const auto length = field.offset - begin;
        const auto mask = ~std::uint64_t{0} >> (8 * (8 - length));
        layout.add({.text = detail::load_word(data + begin) & mask, .mask = mask, .tag = field.tag, .length = length});
        begin = std::uint32_t{ends_[i]} + 1;
    }
    layout.add({.text = 0, .mask = 0, .tag = tag::kCheckSum, .length = 0});
}

std::expected<Message, FrameError> Parser::parse_any(const Frame& frame, std::span<Field> spill) noexcept {
    Cursor cursor{.data = reinterpret_cast<const char*>(frame.bytes.data()),
                  .begin = frame.body_offset,
                  .earliest_end = frame.body_offset,
                  .end = frame.trailer_offset,
                  .fields = fields_.data(),
                  .count = 2,
                  .capacity = kFields,
                  .spill = spill};
    fields_[0] = {tag::kBeginString, 2, frame.version_end - 2};
    fields_[1] = {tag::kBodyLength, frame.version_end + 3, frame.body_offset - frame.version_end - 4};
    const auto error = scan_fields(cursor);
    if (error != kFine) return std::unexpected(error);
    if (stated_sum(cursor.data + cursor.end) != cursor.sum % 256) {
        return std::unexpected(FrameError::bad_checksum);
    }
    if (cursor.begin != cursor.end) return std::unexpected(FrameError::bad_data_length);
    if (cursor.count == cursor.capacity && !grow(cursor)) return std::unexpected(FrameError::too_many_fields);
    cursor.fields[cursor.count++] = {tag::kCheckSum, frame.trailer_offset + 3, 3};
    const bool indexed = cursor.count < detail::FieldIndex::kMaxFields;
    if (indexed) {
        index_.clear();
        for (std::size_t i = 0; i < cursor.count; ++i) index_.add(cursor.fields[i].tag, static_cast<std::uint32_t>(i));
    }
    return Message{{cursor.data, frame.bytes.size()}, {cursor.fields, cursor.count}, indexed ? &index_ : nullptr};
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
                const auto error = parse_field(cursor, end);
                if (error != kFine) return error;
            }
        }
    }
    return kFine;
}

/// Reads the field that ends at `end`, or leaves it for a later delimiter if it is a data field that continues.
inline FrameError Parser::parse_field(Cursor& cursor, std::size_t end) noexcept {
    const auto* field = cursor.data + cursor.begin;
    const char* equals = nullptr;
    if (cursor.begin >= cursor.piece) {
        auto at = (cursor.begin - cursor.piece) / kWordBytes;
        const auto last = (end - cursor.piece) / kWordBytes;
        auto bits = masks_.equals[at] & (~std::uint64_t{0} << ((cursor.begin - cursor.piece) % kWordBytes));
        while (bits == 0 && at < last) bits = masks_.equals[++at];
        if (bits != 0) {
            equals = cursor.data + cursor.piece + at * kWordBytes + static_cast<std::size_t>(std::countr_zero(bits));
        }
    } else {
        equals = static_cast<const char*>(std::memchr(field, '=', end - cursor.begin));
    }
    if (equals == nullptr || equals >= cursor.data + end) return FrameError::bad_field;
    const auto reading = read_tag(field, static_cast<std::size_t>(equals - field));
    if (!reading.is_number) return FrameError::bad_field;
    const auto tag = reading.tag;
    const auto announces = data_fields_.data_of(tag);
    const auto value = static_cast<std::size_t>(equals - cursor.data) + 1;
    if (cursor.data_tag != 0) {
        if (tag == cursor.data_tag) {
            const auto data_end = value + cursor.data_length;
            if (data_end < end || data_end >= cursor.end || cursor.data[data_end] != kSoh) {
                return FrameError::bad_data_length;
            }
            if (data_end > end) {
                // Read it again at the delimiter where it ends.
                cursor.earliest_end = data_end;
                return kFine;
            }
        }
        cursor.data_tag = 0;
    }
    if (announces != 0) {
        const auto length = parse_unsigned({cursor.data + value, end - value});
        if (length) {
            cursor.data_tag = announces;
            cursor.data_length =
                std::min<std::uint64_t>(*length, cursor.end);  // the value does not matter beyond the end
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

}  // namespace millpond::fix
