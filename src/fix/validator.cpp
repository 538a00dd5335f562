#include <millpond/fix/validator.hpp>

#include <array>
#include <charconv>

namespace millpond::fix {
namespace {

/// Set of members that were seen in a message.
class Seen {
public:
    explicit Seen(const FieldSet& set) noexcept : set_(&set) {}

    /// Returns false if the member was seen before.
    bool add(const FieldSet::Member& member) noexcept {
        const auto index = static_cast<std::size_t>(&member - set_->members().data());
        auto& word = words_[index / 64];
        const auto bit = std::uint64_t{1} << (index % 64);
        if ((word & bit) != 0) return false;
        word |= bit;
        return true;
    }
    [[nodiscard]] bool has(const FieldSet::Member& member) const noexcept {
        const auto index = static_cast<std::size_t>(&member - set_->members().data());
        return (words_[index / 64] >> (index % 64) & 1) != 0;
    }

private:
    const FieldSet* set_;
    std::array<std::uint64_t, FieldSet::kCapacity / 64> words_{};
};

/// Whether the tag is a member of the group or of a nested one.
bool holds(const FieldSet& group, Tag tag) noexcept {
    if (group.has(tag)) return true;
    for (const auto& member : group.members()) {
        if (member.group && holds(*member.group, tag)) return true;
    }
    return false;
}

/// Whether values outside the dictionary's list are valid: it has only the versions that existed when it was written.
bool is_application_version(Tag tag) noexcept {
    return tag == tag::kApplVerId || tag == tag::kRefApplVerId || tag == tag::kDefaultApplVerId;
}

}  // namespace

/// Position of the check in a message, and its dictionary.
struct Validator::Walk {
    const Message& message;
    const Dictionary* body_dictionary;
    const FieldSet* body;  // null: unknown MsgType, not checked
    std::size_t end{message.fields().size()};
    std::size_t at{0};

    [[nodiscard]] bool done() const noexcept { return at == end; }
    [[nodiscard]] const Field& field() const noexcept { return message.fields()[at]; }
    [[nodiscard]] Rejection rejection(RejectReason reason, const Field& blamed) const noexcept {
        return {reason, message.tag_text(blamed)};
    }
    /// Number of instances: counts the first field of `group` in the fields of the group that begin here.
    [[nodiscard]] std::uint64_t instances_started(const FieldSet& group) const noexcept {
        std::uint64_t started = 0;
        for (auto i = at; i < message.fields().size() && holds(group, message.fields()[i].tag); ++i) {
            if (message.fields()[i].tag == group.first()) ++started;
        }
        return started;
    }
};

std::string_view text(RejectReason reason) noexcept {
    switch (reason) {
        case RejectReason::invalid_tag_number: return "Invalid tag number";
        case RejectReason::required_tag_missing: return "Required tag missing";
        case RejectReason::tag_not_defined_for_message: return "Tag not defined for this message type";
        case RejectReason::undefined_tag: return "Undefined Tag";
        case RejectReason::tag_without_value: return "Tag specified without a value";
        case RejectReason::value_incorrect: return "Value is incorrect (out of range) for this tag";
        case RejectReason::incorrect_format: return "Incorrect data format for value";
        case RejectReason::decryption_problem: return "Decryption problem";
        case RejectReason::signature_problem: return "Signature problem";
        case RejectReason::comp_id_problem: return "CompID problem";
        case RejectReason::sending_time_accuracy: return "SendingTime accuracy problem";
        case RejectReason::invalid_msg_type: return "Invalid MsgType";
        case RejectReason::xml_validation_error: return "XML Validation error";
        case RejectReason::tag_repeated: return "Tag appears more than once";
        case RejectReason::tag_out_of_order: return "Tag specified out of required order";
        case RejectReason::group_fields_out_of_order: return "Repeating group fields out of order";
        case RejectReason::incorrect_group_count: return "Incorrect NumInGroup count for repeating group";
        case RejectReason::delimiter_in_value: return "Non \"Data\" value includes field delimiter";
        case RejectReason::invalid_application_version: return "Invalid/Unsupported Application Version";
        case RejectReason::other: return "Other";
    }
    return "Other";
}

std::optional<Rejection> Validator::check(const Message& message, const Dictionary* application) noexcept {
    const auto* definition = session_->message(message.msg_type());
    if ((definition == nullptr || !definition->admin) && !is_checked(message.msg_type())) [[unlikely]] {
        return check_header(message);
    }
    if (options_.fields_are_in_order) {
        if (const auto wrong = check_order(message)) return wrong;
    }
    Walk walk{.message = message, .body_dictionary = session_, .body = nullptr};
    if (definition == nullptr && application != nullptr) {
        walk.body_dictionary = application;
        definition = application->message(message.msg_type());
        if (definition == nullptr && application->complete()) return Rejection{RejectReason::invalid_msg_type};
    }
    if (definition != nullptr) walk.body = &definition->fields;
    for (const auto* set : {&session_->header(), walk.body, &session_->trailer()}) {
        if (set == nullptr) continue;
        if (const auto wrong = check_required(message, *set)) return wrong;
    }
    return check_fields(walk);
}

bool Validator::is_checked(std::string_view msg_type) const noexcept {
    return std::ranges::none_of(options_.unchecked_types,
                                [&](std::string_view type) { return type == msg_type || type == "*"; });
}

std::optional<Rejection> Validator::check_header(const Message& message) noexcept {
    if (const auto wrong = check_required(message, session_->header())) return wrong;
    Walk walk{.message = message, .body_dictionary = session_, .body = nullptr, .end = header_size(message)};
    return check_fields(walk);
}

/// Number of fields before the first one that is not in the header.
std::size_t Validator::header_size(const Message& message) const noexcept {
    const FieldSet* group = nullptr;  // group of the header whose fields follow their count
    std::size_t size = 0;
    for (const auto& field : message.fields()) {
        const auto* member = session_->header().find(field.tag);
        if (member == nullptr && (group == nullptr || !group->has(field.tag))) break;
        if (member != nullptr && member->group) group = member->group.get();
        ++size;
    }
    return size;
}

std::optional<Rejection> Validator::check_order(const Message& message) const noexcept {
    enum { in_header, in_body, in_trailer } part = in_header;
    // Fields of a group in the header follow their count; they are not members of any other set.
    const FieldSet* header_group = nullptr;
    for (const auto& field : message.fields()) {
        const auto* member = session_->header().find(field.tag);
        const bool of_header = member != nullptr || (header_group != nullptr && header_group->has(field.tag));
        const bool of_trailer = session_->trailer().has(field.tag);
        if (of_header && part != in_header) return Rejection{RejectReason::tag_out_of_order, message.tag_text(field)};
        if (!of_trailer && part == in_trailer) {
            return Rejection{RejectReason::tag_out_of_order, message.tag_text(field)};
        }
        if (member != nullptr && member->group) header_group = member->group.get();
        if (of_trailer) {
            part = in_trailer;
        } else if (!of_header) {
            part = in_body;
        }
    }
    return std::nullopt;
}

std::optional<Rejection> Validator::check_required(const Message& message, const FieldSet& set) noexcept {
    for (const auto& member : set.members()) {
        if (member.required && !message.has(member.tag)) return missing(member.tag);
    }
    return std::nullopt;
}

Rejection Validator::missing(Tag tag) noexcept {
    const auto* end = std::to_chars(missing_tag_, missing_tag_ + sizeof missing_tag_, tag).ptr;
    return {RejectReason::required_tag_missing, {missing_tag_, static_cast<std::size_t>(end - missing_tag_)}};
}

std::optional<Rejection> Validator::check_value(const Walk& walk, const Field& field) const noexcept {
    if (field.tag == tag::kInvalid) return walk.rejection(RejectReason::invalid_tag_number, field);
    const auto value = walk.message.value(field);
    if (value.empty() && options_.fields_have_values) return walk.rejection(RejectReason::tag_without_value, field);
    const auto* definition = walk.body_dictionary->field(field.tag);
    if (definition == nullptr) definition = session_->field(field.tag);
    if (definition == nullptr) {
        const bool must_be_known =
            walk.body != nullptr &&
            (field.tag < kFirstUserTag ? options_.message_fields_are_known : options_.user_fields_are_known);
        return must_be_known ? std::optional{walk.rejection(RejectReason::invalid_tag_number, field)} : std::nullopt;
    }
    if (value.empty()) return std::nullopt;
    if (!well_formed(definition->type, value)) return walk.rejection(RejectReason::incorrect_format, field);
    if (options_.values_are_known && !definition->allows(value) && !is_application_version(field.tag)) {
        return walk.rejection(RejectReason::value_incorrect, field);
    }
    return std::nullopt;
}

std::optional<Rejection> Validator::check_fields(Walk& walk) noexcept {
    const FieldSet nothing;
    Seen in_header{session_->header()};
    Seen in_body{walk.body != nullptr ? *walk.body : nothing};
    Seen in_trailer{session_->trailer()};
    while (!walk.done()) {
        const auto& field = walk.field();
        const FieldSet* set = &session_->header();
        Seen* seen = &in_header;
        const auto* member = set->find(field.tag);
        if (member == nullptr) {
            set = &session_->trailer();
            seen = &in_trailer;
            member = set->find(field.tag);
        }
        if (member == nullptr && walk.body != nullptr) {
            set = walk.body;
            seen = &in_body;
            member = set->find(field.tag);
        }
        if (member != nullptr && !seen->add(*member)) return walk.rejection(RejectReason::tag_repeated, field);
        if (const auto wrong = check_value(walk, field)) return wrong;
        const bool own =
            field.tag >= kFirstUserTag ? !options_.user_fields_are_known : !options_.message_fields_are_known;
        if (member == nullptr && walk.body != nullptr && !own) {
            return walk.rejection(RejectReason::tag_not_defined_for_message, field);
        }
        if (member != nullptr && member->group) {
            if (const auto wrong = check_group(walk, *set, *member)) return wrong;
        } else {
            ++walk.at;
        }
    }
    return std::nullopt;
}

/// Checks a group. `walk` is at the count field; afterwards it is after the last instance.
std::optional<Rejection> Validator::check_group(Walk& walk, const FieldSet& enclosing,
                                                const FieldSet::Member& counter) noexcept {
    const auto& group = *counter.group;
    const auto& counting = walk.field();
    const auto stated = parse_unsigned(walk.message.value(counting)).value_or(0);
    ++walk.at;
    // A wrong count is reported before errors inside the group.
    const auto started = walk.instances_started(group);
    if (started != 0 && started != stated) return walk.rejection(RejectReason::incorrect_group_count, counting);
    std::uint64_t instances = 0;
    while (!walk.done() && group.has(walk.field().tag)) {
        const auto& field = walk.field();
        if (field.tag != group.first()) {
            // A field that may also follow the group is assumed to do so.
            if (enclosing.has(field.tag)) break;
            return walk.rejection(RejectReason::group_fields_out_of_order, field);
        }
        ++instances;
        if (const auto wrong = check_instance(walk, enclosing, group)) return wrong;
    }
    if (instances != stated) return walk.rejection(RejectReason::incorrect_group_count, counting);
    return std::nullopt;
}

std::optional<Rejection> Validator::check_instance(Walk& walk, const FieldSet& enclosing,
                                                   const FieldSet& group) noexcept {
    Seen seen{group};
    std::uint16_t place = 0;
    for (bool first = true; !walk.done(); first = false) {
        const auto& field = walk.field();
        const auto* member = group.find(field.tag);
        if (member == nullptr || (!first && field.tag == group.first())) break;
        if (!seen.add(*member)) {
            if (enclosing.has(field.tag)) break;
            return walk.rejection(RejectReason::tag_repeated, field);
        }
        if (options_.members_are_in_order && member->place < place) {
            if (enclosing.has(field.tag)) break;
            return walk.rejection(RejectReason::group_fields_out_of_order, field);
        }
        place = member->place;
        if (const auto wrong = check_value(walk, field)) return wrong;
        if (member->group) {
            if (const auto wrong = check_group(walk, group, *member)) return wrong;
        } else {
            ++walk.at;
        }
    }
    for (const auto& member : group.members()) {
        if (member.required && !seen.has(member)) return missing(member.tag);
    }
    return std::nullopt;
}

}  // namespace millpond::fix
