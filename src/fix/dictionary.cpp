#include <millpond/fix/dictionary.hpp>

#include <algorithm>
#include <utility>

namespace millpond::fix {
namespace {

constexpr Tag kDirect = 8192;

}  // namespace

FieldSet::Member& FieldSet::member(Tag tag) {
    if (first_ == 0) first_ = tag;
    const auto at = std::ranges::lower_bound(members_, tag, {}, &Member::tag);
    if (at != members_.end() && at->tag == tag) return *at;
    if (members_.size() == kCapacity) throw DictionaryError("more than 2048 fields in one message");
    if (tag < kCounted) {
        is_member_[tag / kBits] |= std::uint64_t{1} << (tag % kBits);
        for (auto word = tag / kBits + 1; word < members_before_.size(); ++word) ++members_before_[word];
    }
    const auto place = static_cast<std::uint16_t>(members_.size());
    return *members_.insert(at, Member{.tag = tag, .required = false, .place = place, .group = nullptr});
}

void FieldSet::add(Tag tag, bool required) {
    auto& added = member(tag);
    added.required = added.required || required;
}

FieldSet& FieldSet::add_group(Tag count_tag, bool required) {
    add(count_tag, required);
    auto& added = member(count_tag);
    if (!added.group) added.group = std::make_unique<FieldSet>();
    return *added.group;
}

bool FieldDefinition::allows(std::string_view value) const noexcept {
    if (values.empty() || value.empty()) return true;
    if (type != FieldType::multiple) return values.contains(value);
    while (true) {
        const auto end = value.find(' ');
        if (!values.contains(value.substr(0, end))) return false;
        if (end == std::string_view::npos) return true;
        value.remove_prefix(end + 1);
    }
}

FieldDefinition& Dictionary::define_field(Tag tag, std::string field_name, FieldType type) {
    if (tag == 0) throw DictionaryError("field " + field_name + " has no number");
    const auto [named, is_new_name] = names_.try_emplace(field_name, tag);
    if (!is_new_name) throw DictionaryError("field " + field_name + " is defined twice");
    const auto [at, is_new] = fields_.try_emplace(
        tag, FieldDefinition{.tag = tag, .type = type, .name = std::move(field_name), .values = {}});
    if (!is_new) throw DictionaryError("field " + std::to_string(tag) + " is defined twice");
    if (tag < kDirect) {
        if (by_tag_.size() <= tag) by_tag_.resize(tag + 1, nullptr);
        by_tag_[tag] = &at->second;
    }
    return at->second;
}

MessageDefinition& Dictionary::define_message(std::string type, std::string message_name, bool admin) {
    if (type.empty()) throw DictionaryError("message " + message_name + " has no type");
    const auto [at, is_new] = messages_.try_emplace(type);
    if (!is_new) throw DictionaryError("message type " + type + " is defined twice");
    at->second.type = std::move(type);
    at->second.name = std::move(message_name);
    at->second.admin = admin;
    return at->second;
}

const FieldDefinition* Dictionary::field(Tag tag) const noexcept {
    if (tag < kDirect) return tag < by_tag_.size() ? by_tag_[tag] : nullptr;
    const auto at = fields_.find(tag);
    return at == fields_.end() ? nullptr : &at->second;
}

const FieldDefinition* Dictionary::field_named(std::string_view field_name) const noexcept {
    const auto at = names_.find(field_name);
    return at == names_.end() ? nullptr : field(at->second);
}

const MessageDefinition* Dictionary::message(std::string_view type) const noexcept {
    const auto at = messages_.find(type);
    return at == messages_.end() ? nullptr : &at->second;
}

DataFields Dictionary::data_fields(DataFields known) const {
    for (const auto& [tag, definition] : fields_) {
        if (definition.type != FieldType::data) continue;
        const auto* length = length_of(definition);
        if (length != nullptr && !known.add(length->tag, tag)) {
            throw DictionaryError("more than " + std::to_string(DataFields::kCapacity) + " data fields");
        }
    }
    return known;
}

const FieldDefinition* Dictionary::length_of(const FieldDefinition& data) const {
    if (data.length_tag != 0) return field(data.length_tag);
    for (const auto* suffix : {"Len", "Length"}) {
        if (const auto* length = field_named(data.name + suffix)) return length;
    }
    const auto* before = field(data.tag - 1);
    return before != nullptr && before->type == FieldType::length ? before : nullptr;
}

}  // namespace millpond::fix
