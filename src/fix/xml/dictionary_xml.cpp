#include <millpond/fix/dictionary_xml.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <pugixml.hpp>

#include "orchestra_xml.hpp"
#include "xml_node.hpp"

namespace millpond::fix {
namespace {

using xml::attribute;
using xml::kMaxNested;
using xml::needed;

class Reader {
public:
    explicit Reader(const pugi::xml_node& root) : root_(root) {}

    Dictionary read() {
        Dictionary dictionary{version_name()};
        read_fields(dictionary);
        add_members(dictionary, root_.child("header"), dictionary.header(), true);
        add_members(dictionary, root_.child("trailer"), dictionary.trailer(), true);
        for (const auto& message : root_.child("messages").children("message")) {
            const auto name = needed(message, "name");
            auto& definition =
                dictionary.define_message(needed(message, "msgtype"), name, attribute(message, "msgcat") == "admin");
            place_ = "message " + name;
            add_members(dictionary, message, definition.fields, true);
        }
        return dictionary;
    }

private:
    [[nodiscard]] std::string version_name() const {
        const auto type = attribute(root_, "type");
        if (attribute(root_, "major") == "Latest" || attribute(root_, "servicepack") == "Latest") return "FIX.Latest";
        auto name =
            (type.empty() ? "FIX" : std::string{type}) + "." + needed(root_, "major") + "." + needed(root_, "minor");
        const auto pack = attribute(root_, "servicepack");
        if (!pack.empty() && pack != "0") name += "SP" + std::string{pack};
        return name;
    }

    void read_fields(Dictionary& dictionary) const {
        for (const auto& field : root_.child("fields").children("field")) {
            const auto name = needed(field, "name");
            const auto tag = xml::tag_in(field, "number", name);
            const auto type_name = needed(field, "type");
            auto type = xml::type_or_text(dictionary, field_type_named(type_name), name, type_name);
            // Before FIX 4.2 a char was any text (FIX 4.0 and 4.1, "Data types").
            const auto& version = dictionary.version_name();
            if (type == FieldType::character && (version == "FIX.4.0" || version == "FIX.4.1")) type = FieldType::text;
            auto& definition = dictionary.define_field(tag, name, type);
            if (attribute(field, "allowOtherValues") == "true") continue;
            for (const auto& value : field.children("value")) {
                definition.values.try_emplace(needed(value, "enum"), attribute(value, "description"));
            }
        }
    }

    // A required field of an optional component is optional.
    void add_members(const Dictionary& dictionary, const pugi::xml_node& parent, FieldSet& set, bool required) {
        for (const auto& child : parent.children()) {
            if (child.type() != pugi::node_element) continue;
            const std::string_view kind = child.name();
            if (kind != "component" && kind != "group" && kind != "field") {
                throw DictionaryError(place_ + " holds a <" + std::string{kind} + ">");
            }
            const auto name = needed(child, "name");
            const bool must = required && attribute(child, "required") == "Y";
            if (kind == "component") {
                add_component(dictionary, name, set, must);
                continue;
            }
            const auto* field = dictionary.field_named(name);
            if (field == nullptr) throw DictionaryError(place_ + " uses the field " + name + ", which is not defined");
            if (kind == "group") {
                auto& group = set.add_group(field->tag, must);
                add_members(dictionary, child, group, true);
                if (group.first() == 0) throw DictionaryError(place_ + ": the group " + name + " is empty");
            } else {
                set.add(field->tag, must);
            }
        }
    }

    void add_component(const Dictionary& dictionary, const std::string& name, FieldSet& set, bool required) {
        if (nested_.size() == kMaxNested || std::ranges::find(nested_, name) != nested_.end()) {
            throw DictionaryError(place_ + ": the component " + name + " contains itself");
        }
        const auto component = root_.child("components").find_child_by_attribute("component", "name", name.c_str());
        if (!component) throw DictionaryError(place_ + " uses the component " + name + ", which is not defined");
        nested_.push_back(name);
        add_members(dictionary, component, set, required);
        nested_.pop_back();
    }

    pugi::xml_node root_;
    std::string place_{"header or trailer"};
    std::vector<std::string> nested_;
};

/// Warns of data fields without a length field: the first delimiter in the value ends them.
void warn_of_data_without_length(Dictionary& dictionary) {
    for (const auto& [tag, definition] : dictionary.fields()) {
        if (definition.type != FieldType::data || DataFields::standard().length_of(tag) != 0) continue;
        if (dictionary.length_of(definition) != nullptr) continue;
        dictionary.add_warning("data field " + definition.name + "(" + std::to_string(tag) +
                               ") has no length field: its values cannot contain the delimiter");
    }
}

Dictionary read(const pugi::xml_node& root) {
    if (xml::is_repository(root)) return xml::read_repository(root);
    if (std::string_view{root.name()} != "fix") {
        throw DictionaryError("the root element is neither <fix> nor the <repository> of FIX Orchestra");
    }
    return Reader{root}.read();
}

}  // namespace

Dictionary read_dictionary(std::string_view xml) {
    pugi::xml_document document;
    const auto result = document.load_buffer(xml.data(), xml.size());
    if (!result) {
        throw DictionaryError("not XML at byte " + std::to_string(result.offset) + ": " + result.description());
    }
    auto dictionary = read(document.document_element());
    warn_of_data_without_length(dictionary);
    return dictionary;
}

}  // namespace millpond::fix
