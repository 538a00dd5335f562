#include "orchestra_xml.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/fix/msg_type.hpp>

#include "xml_node.hpp"

namespace millpond::fix::xml {
namespace {

constexpr std::string_view kNamespace = "http://fixprotocol.io/2020/orchestra/repository";
constexpr std::string_view kBase = "base";
constexpr std::size_t kMaxReferences = 1'000'000;  // nested components multiply them

/// Name of the element without its namespace prefix.
std::string_view kind_of(const pugi::xml_node& node) {
    const std::string_view name = node.name();
    return name.substr(name.find(':') + 1);  // npos + 1 is 0
}

std::string_view scenario_of(const pugi::xml_node& node) {
    const auto scenario = attribute(node, "scenario");
    return scenario.empty() ? kBase : scenario;
}

/// Calls `use` with each child of that kind.
template <class Use>
void for_each(const pugi::xml_node& parent, std::string_view kind, Use&& use) {
    for (const auto& child : parent.children()) {
        if (child.type() == pugi::node_element && kind_of(child) == kind) use(child);
    }
}

pugi::xml_node child_of(const pugi::xml_node& parent, std::string_view kind) {
    for (const auto& child : parent.children()) {
        if (kind_of(child) == kind) return child;
    }
    return {};
}

/// Index of a list's elements by an attribute and their scenario.
class Index {
public:
    Index(const pugi::xml_node& root, std::string_view list, std::string_view kind, const char* key) {
        for_each(child_of(root, list), kind, [&](const pugi::xml_node& node) {
            auto name = needed(node, key);
            const auto [at, is_new] = nodes_.try_emplace({name, std::string{scenario_of(node)}}, node);
            if (!is_new) {
                throw DictionaryError(std::string{kind} + " " + name + " is defined twice in the scenario " +
                                      at->first.second);
            }
        });
    }
    /// Returns an empty node if there is no such element.
    [[nodiscard]] pugi::xml_node find(std::string_view key, std::string_view scenario) const {
        const auto at = nodes_.find({std::string{key}, std::string{scenario}});
        return at == nodes_.end() ? pugi::xml_node{} : at->second;
    }
    /// Returns one element for each key: that of the base scenario, else the first by name.
    [[nodiscard]] std::vector<pugi::xml_node> each() const {
        std::map<std::string_view, pugi::xml_node> chosen;
        for (const auto& [key, node] : nodes_) {
            const auto [at, is_new] = chosen.try_emplace(key.first, node);
            if (!is_new && key.second == kBase) at->second = node;
        }
        std::vector<pugi::xml_node> nodes;
        for (const auto& [key, node] : chosen) nodes.push_back(node);
        return nodes;
    }

private:
    std::map<std::pair<std::string, std::string>, pugi::xml_node> nodes_;
};

class Reader {
public:
    explicit Reader(const pugi::xml_node& root)
        : root_(root),
          datatypes_(root, "datatypes", "datatype", "name"),
          code_sets_(root, "codeSets", "codeSet", "name"),
          fields_(root, "fields", "field", "id"),
          components_(root, "components", "component", "id"),
          groups_(root, "groups", "group", "id"),
          messages_(root, "messages", "message", "msgType") {}

    Dictionary read() {
        Dictionary dictionary{version_name()};
        for (const auto& field : fields_.each()) define(dictionary, field);
        for (const auto& component : components_.each()) {
            const auto name = attribute(component, "name");
            if (name == "StandardHeader") header_id_ = needed(component, "id");
            if (name == "StandardTrailer") trailer_id_ = needed(component, "id");
        }
        fill(dictionary, header_id_, dictionary.header());
        fill(dictionary, trailer_id_, dictionary.trailer());
        for (const auto& message : messages_.each()) {
            const auto name = needed(message, "name");
            const auto type = needed(message, "msgType");
            const bool admin = is_session_message(type) || attribute(message, "category") == "Session";
            auto& definition = dictionary.define_message(type, name, admin);
            place_ = "message " + name;
            add_members(dictionary, child_of(message, "structure"), definition.fields, true);
        }
        return dictionary;
    }

private:
    /// Extracts the version: "FIX.Latest" of "FIX.Latest_EP303".
    [[nodiscard]] std::string version_name() const {
        const auto version = needed(root_, "version");
        return version.substr(0, version.find('_'));
    }

    void define(Dictionary& dictionary, const pugi::xml_node& field) const {
        const auto name = needed(field, "name");
        const auto type_name = needed(field, "type");
        auto codes = code_sets_.find(type_name, scenario_of(field));
        if (!codes) codes = code_sets_.find(type_name, kBase);
        const auto type = type_of(codes ? needed(codes, "type") : type_name);
        auto& definition =
            dictionary.define_field(tag_in(field, "id", name), name, type_or_text(dictionary, type, name, type_name));
        if (!attribute(field, "lengthId").empty()) definition.length_tag = tag_in(field, "lengthId", name);
        // A field with a second type permits other values than the codes too.
        if (!codes || !attribute(field, "unionDataType").empty()) return;
        for_each(codes, "code", [&](const pugi::xml_node& code) {
            definition.values.try_emplace(needed(code, "value"), attribute(code, "name"));
        });
    }
    /// Field type of a datatype, or of its base datatype.
    [[nodiscard]] std::optional<FieldType> type_of(std::string_view datatype) const {
        for (std::size_t i = 0; i < kMaxNested && !datatype.empty(); ++i) {
            if (const auto type = field_type_named(datatype)) return type;
            datatype = attribute(datatypes_.find(datatype, kBase), "baseType");
        }
        return std::nullopt;
    }

    void fill(const Dictionary& dictionary, const std::string& component_id, FieldSet& set) {
        if (component_id.empty()) return;
        place_ = "component " + component_id;
        add_members(dictionary, components_.find(component_id, kBase), set, true);
    }

    // A required field of an optional component is optional.
    void add_members(const Dictionary& dictionary, const pugi::xml_node& parent, FieldSet& set, bool required) {
        for (const auto& child : parent.children()) {
            const auto kind = kind_of(child);
            const bool is_reference = kind == "fieldRef" || kind == "componentRef" || kind == "groupRef";
            if (!is_reference || attribute(child, "presence") == "forbidden") continue;
            const auto id = needed(child, "id");
            if (++references_ > kMaxReferences) throw DictionaryError("more than 1000000 references");
            const bool must = required && attribute(child, "presence") == "required";
            if (kind == "fieldRef") {
                set.add(defined(dictionary, child, id), must);
            } else if (kind == "groupRef") {
                add_group(dictionary, child, id, set, must);
            } else if (id != header_id_ && id != trailer_id_) {
                add_nested(dictionary, referenced(components_, child, "component", id), set, must);
            }
        }
    }
    [[nodiscard]] Tag defined(const Dictionary& dictionary, const pugi::xml_node& node, const std::string& id) const {
        const auto tag = tag_in(node, "id", id);
        if (dictionary.field(tag) != nullptr) return tag;
        throw DictionaryError(place_ + " uses the field " + id + ", which is not defined");
    }
    [[nodiscard]] pugi::xml_node referenced(const Index& index, const pugi::xml_node& node, const std::string& kind,
                                            const std::string& id) const {
        const auto found = index.find(id, scenario_of(node));
        if (found) return found;
        throw DictionaryError(place_ + " uses the " + kind + " " + id + ", which is not defined in the scenario " +
                              std::string{scenario_of(node)});
    }
    void add_group(const Dictionary& dictionary, const pugi::xml_node& node, const std::string& id, FieldSet& set,
                   bool required) {
        const auto group = referenced(groups_, node, "group", id);
        const auto counter = child_of(group, "numInGroup");
        if (!counter) throw DictionaryError("group " + id + " without <numInGroup>");
        auto& members = set.add_group(defined(dictionary, counter, needed(counter, "id")), required);
        add_nested(dictionary, group, members, true);
        if (members.first() == 0) throw DictionaryError(place_ + ": the group " + id + " is empty");
    }
    void add_nested(const Dictionary& dictionary, const pugi::xml_node& node, FieldSet& set, bool required) {
        if (nested_.size() == kMaxNested || std::ranges::find(nested_, node) != nested_.end()) {
            throw DictionaryError(place_ + ": the " + std::string{kind_of(node)} + " " +
                                  std::string{attribute(node, "id")} + " contains itself");
        }
        nested_.push_back(node);
        add_members(dictionary, node, set, required);
        nested_.pop_back();
    }

    pugi::xml_node root_;
    Index datatypes_;
    Index code_sets_;
    Index fields_;
    Index components_;
    Index groups_;
    Index messages_;
    std::string header_id_;
    std::string trailer_id_;
    std::string place_;
    std::vector<pugi::xml_node> nested_;
    std::size_t references_{0};
};

}  // namespace

bool is_repository(const pugi::xml_node& root) { return kind_of(root) == "repository"; }

Dictionary read_repository(const pugi::xml_node& root) {
    const std::string name = root.name();
    const auto colon = name.find(':');
    const auto declaration = colon == std::string::npos ? std::string{"xmlns"} : "xmlns:" + name.substr(0, colon);
    const auto space = attribute(root, declaration.c_str());
    if (space != kNamespace) {
        throw DictionaryError("the namespace of <" + name + "> is '" + std::string{space} + "', not " +
                              std::string{kNamespace});
    }
    return Reader{root}.read();
}

}  // namespace millpond::fix::xml
