#include <millpond/fix/secret_mask.hpp>

#include <algorithm>
#include <string_view>

namespace millpond::fix {
namespace {

constexpr Tag kRawData = 96;
constexpr Tag kEncryptedPassword = 1402;
constexpr Tag kEncryptedNewPassword = 1404;
constexpr char kDelimiter = '\x01';
constexpr char kMask = '*';
constexpr std::string_view kBegin = "8=FIX";
// Maximum number of bytes that a hostile length can hide.
constexpr std::uint64_t kMaxDataBytes = std::uint64_t{1} << 20U;
constexpr auto kStandard = DataFields::standard();

bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }

}  // namespace

bool SecretTags::hides(Tag tag, bool in_logon) const noexcept {
    switch (tag) {
        case tag::kPassword:
        case tag::kNewPassword:
        case kEncryptedPassword:
        case kEncryptedNewPassword: return true;
        case kRawData:
            if (in_logon) return true;
            break;
        default: break;
    }
    return std::ranges::find(more_, tag) != more_.end();
}

void SecretTags::add(const SecretTags& other) {
    for (const auto tag : other.more_) {
        if (std::ranges::find(more_, tag) == more_.end()) more_.push_back(tag);
    }
    data_fields_.add(other.data_fields_);
}

std::size_t SecretMask::hide(std::span<char> piece) noexcept {
    std::size_t hidden = 0;
    if (place_ == Place::lost) {
        const std::string_view text{piece.data(), piece.size()};
        const auto begin = std::min(text.find(kBegin), text.size());
        std::ranges::fill(piece.first(begin), kMask);
        hidden = begin;
        piece = piece.subspan(begin);
        if (piece.empty()) return hidden;
        *this = SecretMask{*tags_};
    }
    if (place_ == Place::value || place_ == Place::data) apply_tags();
    for (auto& byte : piece) {
        if (!advance(byte)) continue;
        byte = kMask;
        ++hidden;
    }
    return hidden;
}

/// Processes a byte. Returns whether it is part of a secret.
bool SecretMask::advance(char byte) noexcept {
    if (body_is_known_ && body_left_ > 0) --body_left_;
    switch (place_) {
        case Place::tag:
            if (byte == '=') {
                begin_value();
            } else if (byte == kDelimiter) {
                tag_ = 0;
                tag_is_number_ = true;
            } else if (is_digit(byte) && tag_ <= kMaxTag / 10) {
                tag_ = tag_ * 10 + static_cast<Tag>(byte - '0');
            } else {
                tag_is_number_ = false;
            }
            return false;
        case Place::data: return masks_data(byte);
        case Place::value:
        case Place::lost: break;
    }
    if (byte == kDelimiter) {
        end_value();
        return false;
    }
    if (value_chars_++ == 0) type_ = byte;
    value_is_number_ = value_is_number_ && is_digit(byte) && number_ <= kMaxDataBytes;
    if (value_is_number_) number_ = number_ * 10 + static_cast<std::uint64_t>(byte - '0');
    return hidden_;
}

bool SecretMask::masks_data(char byte) noexcept {
    if (data_left_ == 0 && byte == kDelimiter) {
        end_value();
        return false;
    }
    if (data_left_ != 0) --data_left_;
    if (hidden_ || kStandard.length_of(tag_) != 0) return hidden_;
    bool hides = false;
    if (byte == kDelimiter) {
        tag_in_data_ = 0;
        in_value_of_data_ = hidden_in_data_ = false;
    } else if (in_value_of_data_) {
        hides = hidden_in_data_;
    } else if (byte == '=') {
        in_value_of_data_ = true;
        hidden_in_data_ = tags_->hides(tag_in_data_, !other_type_);
    } else {
        tag_in_data_ =
            is_digit(byte) && tag_in_data_ <= kMaxTag / 10 ? tag_in_data_ * 10 + static_cast<Tag>(byte - '0') : kMaxTag;
    }
    return hides;
}

void SecretMask::begin_value() noexcept {
    if (!tag_is_number_) tag_ = 0;
    if (tag_ == tag::kBeginString) {
        other_type_ = false;
        before_ = 0;
        body_is_known_ = false;
    }
    hidden_ = false;
    value_chars_ = 0;
    number_ = 0;
    value_is_number_ = true;
    place_ = Place::value;
    apply_tags();
}

/// Applies the tags when a value begins or continues in another piece: tags may have been added meanwhile.
void SecretMask::apply_tags() noexcept {
    hidden_ = hidden_ || tags_->hides(tag_, !other_type_);
    if (place_ == Place::data || before_ == 0 || tag_ == 0 || tags_->data_fields().data_of(before_) != tag_) return;
    if (announced_bytes_ <= value_chars_ || announced_bytes_ > kMaxDataBytes) return;
    const auto left = announced_bytes_ - value_chars_;
    if (body_is_known_ && left >= body_left_) return;
    place_ = Place::data;
    data_left_ = left;
    tag_in_data_ = 0;
    in_value_of_data_ = true;  // the value of the data field itself
    hidden_in_data_ = false;
}

void SecretMask::end_value() noexcept {
    if (tag_ == tag::kMsgType) other_type_ = value_chars_ != 1 || type_ != 'A';
    if (tag_ == tag::kBodyLength) {
        body_is_known_ = value_is_number_;
        body_left_ = number_;
    }
    before_ = value_is_number_ && value_chars_ != 0 ? tag_ : 0;
    announced_bytes_ = number_;
    place_ = Place::tag;
    tag_ = 0;
    tag_is_number_ = true;
}

}  // namespace millpond::fix
