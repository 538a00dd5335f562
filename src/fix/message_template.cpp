#include <millpond/fix/message_template.hpp>

#include <array>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include <millpond/fix/detail/delimiter_scan.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>

namespace millpond::fix {
namespace {

constexpr std::size_t kTrailerBytes = 7;
constexpr std::size_t kMostDigits = 20;

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
    sum_ = detail::sum_function(detail::best_supported())(bytes_.data(), bytes_.size() - kTrailerBytes);
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
    replace(slot, text.data());
    return true;
}

bool MessageTemplate::patch_number(Slot slot, std::uint64_t value) noexcept {
    std::array<char, kMostDigits> digits;
    if (slot.width > kMostDigits) return false;
    for (auto at = slot.width; at > 0; --at) {
        digits[at - 1] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
    if (value != 0) return false;
    replace(slot, digits.data());
    return true;
}

bool MessageTemplate::patch_timestamp(Slot slot, std::int64_t utc_ns, TimePrecision precision) noexcept {
    if (slot.width != timestamp_chars(precision)) return false;
    std::array<char, kMaxTimestampChars> text;
    write_utc_timestamp(text.data(), utc_ns, precision);
    replace(slot, text.data());
    return true;
}

void MessageTemplate::replace(Slot slot, const char* text) noexcept {
    auto* at = bytes_.data() + slot.offset;
    for (std::uint32_t i = 0; i < slot.width; ++i) {
        sum_ += static_cast<unsigned char>(text[i]);
        sum_ -= static_cast<unsigned char>(at[i]);
    }
    std::memcpy(at, text, slot.width);
}

std::string_view MessageTemplate::bytes() noexcept {
    auto* digits = bytes_.data() + bytes_.size() - 4;
    const auto sum = sum_ % 256;
    digits[0] = static_cast<char>('0' + sum / 100);
    digits[1] = static_cast<char>('0' + sum / 10 % 10);
    digits[2] = static_cast<char>('0' + sum % 10);
    return {bytes_.data(), bytes_.size()};
}

}  // namespace millpond::fix
