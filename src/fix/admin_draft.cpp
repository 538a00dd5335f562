#include <millpond/fix/admin_draft.hpp>

#include <algorithm>
#include <cstring>

#include <millpond/fix/data_fields.hpp>
#include <millpond/fix/value.hpp>
#include <millpond/fix/writer.hpp>

namespace millpond::fix {
namespace {

constexpr char kDelimiter = '\x01';
constexpr auto kDataFields = DataFields::standard();

// Header fields, in the order in which they are written.
constexpr Tag kHeaderFields[] = {tag::kSenderSubId,        tag::kSenderLocationId, tag::kTargetSubId,
                                 tag::kTargetLocationId,   tag::kOnBehalfOfCompId, tag::kOnBehalfOfSubId,
                                 tag::kDeliverToCompId,    tag::kDeliverToSubId,   tag::kOnBehalfOfLocationId,
                                 tag::kDeliverToLocationId};
// Other fields of header and trailer. Sorted.
constexpr Tag kFraming[] = {8,  9,   10,  34,  35,  43,  49,  52,  56,  89,  90,   91,   93,
                            97, 122, 212, 213, 347, 369, 627, 628, 629, 630, 1128, 1129, 1156};
// Fields that the session agrees with its peer, or that answer the peer. Sorted.
constexpr Tag kSessionRules[] = {tag::kBeginSeqNo,
                                 tag::kEndSeqNo,
                                 tag::kNewSeqNo,
                                 tag::kRefSeqNum,
                                 tag::kEncryptMethod,
                                 tag::kHeartBtInt,
                                 tag::kTestReqId,
                                 tag::kGapFillFlag,
                                 tag::kResetSeqNumFlag,
                                 tag::kRefTagId,
                                 tag::kSessionRejectReason,
                                 tag::kNextExpectedMsgSeqNum,
                                 tag::kDefaultApplVerId};
static_assert(std::ranges::is_sorted(kFraming) && std::ranges::is_sorted(kSessionRules));

bool has_delimiter(std::string_view value) noexcept { return value.find(kDelimiter) != std::string_view::npos; }

}  // namespace

bool AdminDraft::is_header_field(Tag tag) noexcept {
    return std::ranges::find(kHeaderFields, tag) != std::end(kHeaderFields);
}

bool AdminDraft::is_data(Tag tag) noexcept { return kDataFields.length_of(tag) != 0; }

bool AdminDraft::may_set(Tag tag) noexcept {
    return tag != tag::kInvalid && tag <= kMaxTag && kDataFields.data_of(tag) == 0 &&
           !std::ranges::binary_search(kFraming, tag) && !std::ranges::binary_search(kSessionRules, tag);
}

Version AdminDraft::since(Tag header_field) noexcept {
    switch (header_field) {
        case tag::kSenderLocationId:
        case tag::kTargetLocationId:
        case tag::kOnBehalfOfLocationId:
        case tag::kDeliverToLocationId: return Version::fix41;
        default: return Version::fix40;
    }
}

AdminDraft::AdminDraft(std::string_view message, std::span<char> memory) noexcept : message_(message), memory_(memory) {
    for (auto rest = message; !rest.empty();) {
        const auto end = std::min(rest.find(kDelimiter), rest.size());
        const auto equals = std::min(rest.find('='), end);
        Tag tag = 0;
        for (const auto digit : rest.substr(0, equals)) tag = tag * 10 + static_cast<Tag>(digit - '0');
        const bool is_frame = tag == tag::kBeginString || tag == tag::kBodyLength || tag == tag::kCheckSum;
        if (!is_frame) {
            if (count_ == kMaxFields) {
                failed_ = true;
                return;
            }
            auto part = Part::body;
            if (std::ranges::binary_search(kFraming, tag)) part = Part::fixed;
            if (is_header_field(tag)) part = Part::header;
            entries_[count_++] = {.tag = tag, .part = part, .value = rest.substr(equals + 1, end - equals - 1)};
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

std::uint64_t AdminDraft::sequence() const noexcept { return parse_unsigned(value_of(tag::kMsgSeqNum)).value_or(0); }

std::optional<std::string_view> AdminDraft::text(Tag tag) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        if (entries_[i].tag == tag) return entries_[i].value;
    }
    return std::nullopt;
}

std::optional<std::string_view> AdminDraft::keep(std::string_view value) noexcept {
    if (value.size() > memory_.size()) return std::nullopt;
    std::memmove(memory_.data(), value.data(), value.size());
    const std::string_view kept{memory_.data(), value.size()};
    memory_ = memory_.subspan(value.size());
    return kept;
}

bool AdminDraft::put(const Entry& entry, bool replaces) noexcept {
    auto* const end = entries_.data() + count_;
    auto* const place =
        replaces ? std::find_if(entries_.data(), end, [&](const Entry& e) { return e.tag == entry.tag; }) : end;
    if (place == entries_.data() + kMaxFields) return false;
    const auto kept = keep(entry.value);
    if (!kept) return false;
    if (place == end) ++count_;
    *place = entry;
    place->value = *kept;
    changed_ = true;
    return true;
}

bool AdminDraft::set(Tag tag, std::string_view value) noexcept {
    if (!may_set(tag) || value.empty()) return false;
    if (const auto length_tag = kDataFields.length_of(tag); length_tag != 0) return set_data(length_tag, tag, value);
    if (has_delimiter(value)) return false;
    return put({.tag = tag, .part = is_header_field(tag) ? Part::header : Part::body, .value = value}, true);
}

bool AdminDraft::set_data(Tag length_tag, Tag data_tag, std::string_view data) noexcept {
    const auto standard = kDataFields.length_of(data_tag);
    const bool is_pair =
        standard == 0 ? may_set(length_tag) && !is_data(length_tag) && length_tag != data_tag : standard == length_tag;
    const bool allowed = is_pair && may_set(data_tag) && !is_header_field(data_tag) && !is_header_field(length_tag);
    if (!allowed || data.empty()) return false;
    return put({.tag = data_tag, .length_tag = length_tag, .value = data}, true);
}

bool AdminDraft::append(Tag tag, std::string_view value) noexcept {
    if (!may_set(tag) || is_header_field(tag) || is_data(tag) || value.empty() || has_delimiter(value)) return false;
    return put({.tag = tag, .value = value}, false);
}

bool AdminDraft::refuse(std::string_view reason) noexcept {
    if (!is_logon()) return false;
    const auto shown = reason.empty() ? std::string_view{"refused by the application"} : reason;
    const auto bytes = std::min({shown.size(), kMaxReasonBytes, memory_.size()});
    refusal_ = keep(shown.substr(0, bytes));
    return true;
}

std::optional<std::string_view> AdminDraft::encode(std::span<char> buffer,
                                                   std::string_view begin_string) const noexcept {
    if (failed_) return std::nullopt;
    if (!changed_) {
        if (message_.size() > buffer.size()) return std::nullopt;
        std::memcpy(buffer.data(), message_.data(), message_.size());
        return std::string_view{buffer.data(), message_.size()};
    }
    Writer writer{buffer, begin_string};
    for (const auto part : {Part::fixed, Part::header, Part::body}) {
        for (const auto& entry : std::span{entries_}.first(count_)) {
            if (entry.part != part) continue;
            if (entry.length_tag != tag::kInvalid) {
                writer.add_data(entry.length_tag, entry.tag, entry.value);
            } else {
                writer.add(entry.tag, entry.value);
            }
        }
    }
    return writer.finish();
}

}  // namespace millpond::fix
