#include <millpond/fix/message_template.hpp>

#include <array>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include <millpond/fix/detail/delimiter_scan.hpp>
#include <millpond/fix/detail/words.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>

namespace millpond::fix {
namespace {

constexpr std::size_t kTrailerBytes = 7;
constexpr std::size_t kMaxDigits = 20;
constexpr std::array<std::uint32_t, detail::kWordDigits + 1> kTenTo = {
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

std::expected<Message, FrameError> parse_whole(Parser& parser, std::span<const char> bytes) {
    const auto frame = next_frame(std::as_bytes(bytes), bytes.size());
    if (!frame) return std::unexpected(frame.error().error);
    if (frame->bytes.size() != bytes.size()) return std::unexpected(FrameError::bad_body_length);
    return parser.parse(*frame);
}

}  // namespace

MessageTemplate::MessageTemplate(std::string_view message, std::pmr::memory_resource* memory)
    : bytes_(message.begin(), message.end(), memory) {
    Parser parser;
    const auto parsed = parse_whole(parser, bytes_);
    if (!parsed) {
        throw std::invalid_argument("a message template must be one valid message: " +
                                    std::string{name(parsed.error())});
    }
}

std::optional<MessageTemplate::Slot> MessageTemplate::slot(Tag tag) const {
    if (tag == tag::kBeginString || tag == tag::kBodyLength || tag == tag::kCheckSum) return std::nullopt;
    Parser parser;
    const auto parsed = parse_whole(parser, bytes_);
    const auto* field = parsed ? parsed->find(tag) : nullptr;
    if (field == nullptr) return std::nullopt;
    return Slot{field->offset, field->length};
}

bool MessageTemplate::patch(Slot slot, std::string_view text) noexcept {
    if (text.size() != slot.width || text.find('\x01') != std::string_view::npos) return false;
    text.copy(bytes_.data() + slot.offset, slot.width);
    return true;
}

bool MessageTemplate::patch_number(Slot slot, std::uint64_t value) noexcept {
    auto* const at = bytes_.data() + slot.offset;
    if (slot.width <= detail::kWordDigits) {
        if (value >= kTenTo[slot.width]) return false;
        const auto digits = detail::digits_of(static_cast<std::uint32_t>(value)) + 0x3030303030303030ULL;
        std::array<char, detail::kWordDigits> text;
        detail::store_word(text.data(), digits);
        std::memcpy(at, text.data() + (detail::kWordDigits - slot.width), slot.width);
        return true;
    }
    if (slot.width > kMaxDigits) return false;
    std::array<char, kMaxDigits> text;
    for (auto place = slot.width; place > 0; --place, value /= 10) {
        text[place - 1] = static_cast<char>('0' + value % 10);
    }
    if (value != 0) return false;
    std::memcpy(at, text.data(), slot.width);
    return true;
}

bool MessageTemplate::patch_timestamp(Slot slot, std::int64_t utc_ns, TimePrecision precision) noexcept {
    if (slot.width != timestamp_chars(precision)) return false;
    write_utc_timestamp(bytes_.data() + slot.offset, utc_ns, precision);
    return true;
}

std::string_view MessageTemplate::bytes() noexcept {
    static const auto sum_of = detail::sum_function(detail::best_supported());
    auto* digits = bytes_.data() + bytes_.size() - 4;
    const auto sum = sum_of(bytes_.data(), bytes_.size() - kTrailerBytes) % 256;
    digits[0] = static_cast<char>('0' + sum / 100);
    digits[1] = static_cast<char>('0' + sum / 10 % 10);
    digits[2] = static_cast<char>('0' + sum % 10);
    return {bytes_.data(), bytes_.size()};
}

}  // namespace millpond::fix
