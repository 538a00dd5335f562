#include "fixd/print/fix_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/json_string.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fixd {
namespace {

/// An object whose names have no fixed order and may repeat outside of known groups.
class Object {
public:
    /// json: a value as JSON.
    void add(std::string name, std::string json) {
        for (auto& [known, values] : members_) {
            if (known == name) return values.push_back(std::move(json));
        }
        members_.emplace_back(std::move(name), std::vector<std::string>{std::move(json)});
    }
    [[nodiscard]] std::string text() const {
        std::string out{'{'};
        for (const auto& [name, values] : members_) {
            if (out.size() > 1) out += ',';
            out += core::json_string(name);
            out += ':';
            out += values.size() == 1 ? values.front() : list_of(values);
        }
        return out += '}';
    }
    [[nodiscard]] static std::string list_of(const std::vector<std::string>& values) {
        return fmt::format("[{}]", fmt::join(values, ","));
    }

private:
    std::vector<std::pair<std::string, std::vector<std::string>>> members_;
};

class Encoder {
public:
    Encoder(const fix::Message& message, const JsonNames& names)
        : message_(&message), names_(&names), left_(message.fields()) {}

    std::string text() {
        const auto* body = body_of(message_->msg_type());
        Object header;
        Object content;
        Object trailer;
        while (!left_.empty()) {
            const auto tag = left_.front().tag;
            if (tag == fix::tag::kBodyLength || tag == fix::tag::kCheckSum) {
                left_ = left_.subspan(1);
            } else if (const auto* in_header = find(tag, &fix::Dictionary::header)) {
                add_field(in_header, header);
            } else if (const auto* in_trailer = find(tag, &fix::Dictionary::trailer)) {
                add_field(in_trailer, trailer);
            } else {
                add_field(body != nullptr ? body->find(tag) : nullptr, content);
            }
        }
        return R"({"Header":)" + header.text() + R"(,"Body":)" + content.text() + R"(,"Trailer":)" + trailer.text() +
               "}";
    }

private:
    using Member = fix::FieldSet::Member;
    using Part = const fix::FieldSet& (fix::Dictionary::*)() const;

    [[nodiscard]] const fix::FieldSet* body_of(std::string_view type) const {
        for (const auto* dictionary : {names_->application, names_->session}) {
            const auto* definition = dictionary != nullptr ? dictionary->message(type) : nullptr;
            if (definition != nullptr) return &definition->fields;
        }
        return nullptr;
    }
    /// The field in the header or trailer of either dictionary.
    [[nodiscard]] const Member* find(fix::Tag tag, Part part) const {
        for (const auto* dictionary : {names_->application, names_->session}) {
            const auto* member = dictionary != nullptr ? (dictionary->*part)().find(tag) : nullptr;
            if (member != nullptr) return member;
        }
        return nullptr;
    }

    /// Adds the next field, with the instances of its group.
    void add_field(const Member* member, Object& into) {
        const auto field = left_.front();
        left_ = left_.subspan(1);
        const auto known = names_->field_name(field.tag);
        std::string name{known.empty() ? message_->tag_text(field) : known};
        const bool is_group = member != nullptr && member->group != nullptr;
        into.add(std::move(name), is_group ? group_json(*member->group) : core::json_string(message_->value(field)));
    }

    /// An instance ends before a field that it already has, or that is not part of the group.
    std::string group_json(const fix::FieldSet& group) {
        std::vector<std::string> instances;
        while (!left_.empty() && group.has(left_.front().tag)) {
            Object instance;
            std::vector<fix::Tag> had;
            while (!left_.empty()) {
                const auto tag = left_.front().tag;
                const auto* member = group.find(tag);
                if (member == nullptr || std::ranges::find(had, tag) != had.end()) break;
                had.push_back(tag);
                add_field(member, instance);
            }
            instances.push_back(instance.text());
        }
        return Object::list_of(instances);
    }

    const fix::Message* message_;
    const JsonNames* names_;
    std::span<const fix::Field> left_;
};

}  // namespace

std::string json_of(const fix::Message& message, const JsonNames& names) { return Encoder{message, names}.text(); }

}  // namespace millpond::fixd
