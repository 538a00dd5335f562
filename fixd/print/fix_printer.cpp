#include "fixd/print/fix_printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include <millpond/core/json_string.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/version.hpp>

#include "fixd/print/fix_json.hpp"
#include "fixd/print/fix_names.hpp"

namespace millpond::fixd {
namespace {

constexpr std::size_t kMinFieldBytes = 3;

/// Nesting depth in repeating groups, field by field.
class GroupDepth {
public:
    explicit GroupDepth(const fix::FieldSet* body) : sets_{body} {}

    std::size_t of(fix::Tag tag) {
        while (sets_.size() > 1 && !sets_.back()->has(tag)) sets_.pop_back();
        const auto depth = sets_.size() - 1;
        const auto* member = sets_.back() != nullptr ? sets_.back()->find(tag) : nullptr;
        if (member != nullptr && member->group) sets_.push_back(member->group.get());
        return depth;
    }

private:
    std::vector<const fix::FieldSet*> sets_;
};

/// Whether a field's whole value is '*'.
bool has_masked_value(std::string_view bytes) {
    for (auto at = bytes.find("=*"); at != std::string_view::npos; at = bytes.find("=*", at + 1)) {
        const auto end = bytes.find_first_not_of('*', at + 1);
        if (end != std::string_view::npos && bytes[end] == '\x01') return true;
    }
    return false;
}

std::string with_own_checksum(std::string_view bytes) {
    constexpr std::size_t kTrailerBytes = 7;
    const auto body = bytes.substr(0, bytes.size() - kTrailerBytes);
    unsigned sum = 0;
    for (const char byte : body) sum += static_cast<unsigned char>(byte);
    return fmt::format("{}10={:03}\x01", body, sum % 256);
}

/// "FIX.Latest_EP303" is FIX.Latest.
bool is_of_version(const fix::Dictionary& dictionary, std::string_view version) {
    const std::string_view known{dictionary.version_name()};
    return known == version || (version == name(fix::ApplicationVersion::latest) && known.starts_with(version));
}

/// Version names of dictionaries.
std::vector<fix::ApplicationDictionary> versions_of(const std::vector<const fix::Dictionary*>& dictionaries) {
    std::vector<fix::ApplicationDictionary> versions;
    for (auto version = fix::ApplicationVersion::fix40; version <= fix::ApplicationVersion::latest;
         version = static_cast<fix::ApplicationVersion>(static_cast<int>(version) + 1)) {
        const auto own = std::ranges::find_if(
            dictionaries, [&](const auto* dictionary) { return is_of_version(*dictionary, name(version)); });
        if (own != dictionaries.end()) versions.push_back({version, *own});
    }
    return versions;
}

}  // namespace

std::string shown(std::string_view bytes) {
    std::string text;
    for (const auto byte : bytes) {
        const bool is_control = static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
        text += byte == '\x01' ? '|' : is_control ? '?' : byte;
    }
    return text;
}

fix::DataFields FixPrinter::data_fields_of(const std::vector<const fix::Dictionary*>& dictionaries) {
    auto pairs = fix::DataFields::standard();
    for (const auto* dictionary : dictionaries) pairs = dictionary->data_fields(pairs);
    return pairs;
}

const fix::Dictionary& FixPrinter::built_in(std::string_view begin_string) {
    const auto version = fix::version_of(begin_string).value_or(fix::Version::fixt11);
    const auto known = built_in_.find(version);
    if (known != built_in_.end()) return known->second;
    return built_in_.emplace(version, fix::Dictionary::session_level(version)).first->second;
}

bool FixPrinter::has_secrets(std::string_view bytes) const {
    std::string hidden{bytes};
    return fix::SecretMask{secrets_}.hide(hidden) != 0;
}

std::optional<fix::Message> FixPrinter::parse(std::string_view bytes) {
    masked_ = false;
    auto message = parse_whole(bytes);
    if (!message && fault_ == name(fix::FrameError::bad_checksum) && has_masked_value(bytes)) {
        repaired_ = with_own_checksum(bytes);
        message = parse_whole(repaired_);
        masked_ = message.has_value();
    }
    // A Logon applies to later messages, whether it is printed or not.
    if (message) dictionary_ = dictionary_of(*message);
    return message;
}

std::optional<fix::Message> FixPrinter::parse_whole(std::string_view bytes) {
    const auto frame = fix::next_frame(std::as_bytes(std::span{bytes.data(), bytes.size()}), bytes.size());
    auto error = fix::FrameError::incomplete;
    if (frame) {
        spill_.resize(bytes.size() / kMinFieldBytes + 1);
        const auto message = parser_.parse(*frame, spill_);
        if (message) return *message;
        error = message.error();
    } else {
        error = frame.error().error;
    }
    fault_ = name(error);
    return std::nullopt;
}

std::string FixPrinter::text(std::string_view bytes) {
    const auto message = parse(bytes);
    return text_of(bytes, message);
}

std::string FixPrinter::text(std::string_view bytes, const fix::Dictionary* dictionary) {
    const auto message = parse(bytes);
    dictionary_ = dictionary;
    return text_of(bytes, message);
}

/// The version of an application message over FIXT 1.1, if it has a dictionary.
std::optional<fix::ApplicationVersion> FixPrinter::version_of(const fix::Message& message) {
    constexpr std::size_t kMaxSenders = 4'096;
    const auto ids = fmt::format("{}\x01{}", message.text(fix::tag::kSenderCompId).value_or(""),
                                 message.text(fix::tag::kTargetCompId).value_or(""));
    auto known = senders_.find(ids);
    if (message.msg_type() == "A" && (known != senders_.end() || senders_.size() < kMaxSenders)) {
        const auto versions = versions_of(dictionaries_);
        if (versions.empty()) return std::nullopt;
        known =
            senders_.insert_or_assign(ids, fix::ApplicationVersions{versions.front(), std::span{versions}.subspan(1)})
                .first;
        static_cast<void>(known->second.learn(message));
    }
    if (const auto id = message.text(fix::tag::kApplVerId)) return fix::application_version_of(*id);
    return known == senders_.end() ? std::nullopt : known->second.of(message);
}

const fix::Dictionary* FixPrinter::dictionary_of(const fix::Message& message) {
    if (dictionaries_.size() < 2) return dictionaries_.empty() ? nullptr : dictionaries_.front();
    auto version = message.begin_string();
    if (version == fix::begin_string(fix::Version::fixt11)) {
        if (const auto own = version_of(message)) version = name(*own);
    }
    const auto known = std::ranges::find_if(
        dictionaries_, [&](const auto* dictionary) { return is_of_version(*dictionary, version); });
    return known != dictionaries_.end() ? *known : dictionaries_.front();
}

std::string FixPrinter::text_of(std::string_view bytes, const std::optional<fix::Message>& message) {
    std::string visible{bytes};
    const bool hidden = fix::SecretMask{secrets_}.hide(visible) != 0 || masked_;
    if (!message && form_ == Form::decoded) {
        return fmt::format(R"({{"type":"","name":"","sequence":null,"masked":{},"fault":{},"text":{},"fields":[]}})",
                           hidden, core::json_string(fault_), core::json_string(shown(visible)));
    }
    if (!message) return fmt::format("no message ({}): {}\n", fault_, shown(visible));
    const fix::Message shown_message{visible, message->fields(), nullptr};
    if (form_ == Form::decoded) return decoded(shown_message, hidden);
    if (form_ == Form::json) {
        const auto& session = built_in(message->begin_string());
        return json_of(shown_message, {.session = &session,
                                       .application = dictionary_,
                                       .field_name = [&](fix::Tag tag) { return field_name(tag, session); }}) +
               "\n";
    }
    auto text = form_ == Form::fields ? fields_text(shown_message) : one_line(shown_message);
    if (!hidden) return text;
    if (form_ == Form::fields) return text + "      [masked]\n";
    text.insert(text.size() - 1, " [masked]");
    return text;
}

std::string_view FixPrinter::field_name(fix::Tag tag, const fix::Dictionary& session) const {
    for (const auto* dictionary : {dictionary_, &session}) {
        const auto* field = dictionary != nullptr ? dictionary->field(tag) : nullptr;
        if (field != nullptr) return field->name;
    }
    return common_field_name(tag);
}

std::string_view FixPrinter::value_name(fix::Tag tag, std::string_view value) const {
    const auto* field = dictionary_ != nullptr ? dictionary_->field(tag) : nullptr;
    if (field == nullptr) return common_value_name(tag, value);
    const auto known = field->values.find(value);
    return known != field->values.end() ? std::string_view{known->second} : std::string_view{};
}

std::string_view FixPrinter::message_name(std::string_view type, const fix::Dictionary& session) const {
    for (const auto* dictionary : {dictionary_, &session}) {
        const auto* message = dictionary != nullptr ? dictionary->message(type) : nullptr;
        if (message != nullptr) return message->name;
    }
    return common_message_name(type);
}

template <class Visitor>
void FixPrinter::visit_fields(const fix::Message& message, Visitor&& visit) {
    const auto& session = built_in(message.begin_string());
    const auto type = message.msg_type();
    const auto* definition = dictionary_ != nullptr ? dictionary_->message(type) : nullptr;
    GroupDepth depth{definition != nullptr ? &definition->fields : nullptr};
    for (const auto& field : message.fields()) {
        const auto value = message.value(field);
        const auto meaning =
            field.tag == fix::tag::kMsgType ? message_name(type, session) : value_name(field.tag, value);
        visit(field, depth.of(field.tag), field_name(field.tag, session), value, meaning);
    }
}

std::string FixPrinter::fields_text(const fix::Message& message) {
    std::string text;
    visit_fields(message, [&](const fix::Field& field, std::size_t depth, std::string_view name, std::string_view value,
                              std::string_view meaning) {
        text += fmt::format("{:{}}{:>5} {:<24} {}{}\n", "", 4 * depth, message.tag_text(field), name, shown(value),
                            meaning.empty() ? "" : fmt::format("  ({})", meaning));
    });
    return text;
}

std::string FixPrinter::decoded(const fix::Message& message, bool hidden) {
    using core::json_string;
    const auto name = message_name(message.msg_type(), built_in(message.begin_string()));
    const auto number = message.unsigned_integer(fix::tag::kMsgSeqNum);
    auto line = one_line(message);
    line.pop_back();  // its line end
    auto text = fmt::format(R"({{"type":{},"name":{},"sequence":{},"masked":{},"fault":null,"text":{},"fields":[)",
                            json_string(message.msg_type()), json_string(name),
                            number ? fmt::format("{}", *number) : "null", hidden, json_string(line));
    const char* separator = "";
    visit_fields(message, [&](const fix::Field& field, std::size_t depth, std::string_view field_name,
                              std::string_view value, std::string_view meaning) {
        text += fmt::format("{}[{},{},{},{},{}]", separator, json_string(message.tag_text(field)),
                            json_string(field_name), json_string(shown(value)), json_string(meaning), depth);
        separator = ",";
    });
    return text + "]}";
}

std::string FixPrinter::one_line(const fix::Message& message) {
    const auto& session = built_in(message.begin_string());
    const auto name = message_name(message.msg_type(), session);
    auto text = fmt::format("{} {}", message.text(fix::tag::kMsgSeqNum).value_or("?"),
                            name.empty() ? message.msg_type() : name);
    for (const auto& field : message.fields()) {
        switch (field.tag) {
            // Left out: fields that every line would repeat.
            case fix::tag::kBeginString:
            case fix::tag::kBodyLength:
            case fix::tag::kMsgType:
            case fix::tag::kMsgSeqNum:
            case fix::tag::kSenderCompId:
            case fix::tag::kTargetCompId:
            case fix::tag::kSendingTime:
            case fix::tag::kCheckSum: continue;
            default: break;
        }
        const auto label = field_name(field.tag, session);
        text += fmt::format(" {}={}", label.empty() ? message.tag_text(field) : label, shown(message.value(field)));
    }
    return text + "\n";
}

}  // namespace millpond::fixd
