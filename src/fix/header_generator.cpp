#include <millpond/fix/header_generator.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "global_names.hpp"
#include "macro_names.hpp"

namespace millpond::fix {
namespace {

// Keywords of C++ to C++26, with the alternative tokens, and those of modules and GNU.
constexpr std::string_view kMacroFamilies[] = {"ATOMIC_", "DBL_", "FE_", "FLT_", "FP_", "LC_", "LDBL_"};
constexpr std::string_view kMacroEnds[] = {"_C", "_MAX", "_MIN", "_WIDTH"};
constexpr std::string_view kKeywords[] = {"alignas",
                                          "alignof",
                                          "and",
                                          "and_eq",
                                          "asm",
                                          "auto",
                                          "bitand",
                                          "bitor",
                                          "bool",
                                          "break",
                                          "case",
                                          "catch",
                                          "char",
                                          "char16_t",
                                          "char32_t",
                                          "char8_t",
                                          "class",
                                          "co_await",
                                          "co_return",
                                          "co_yield",
                                          "compl",
                                          "concept",
                                          "const",
                                          "const_cast",
                                          "consteval",
                                          "constexpr",
                                          "constinit",
                                          "continue",
                                          "contract_assert",
                                          "decltype",
                                          "default",
                                          "delete",
                                          "do",
                                          "double",
                                          "dynamic_cast",
                                          "else",
                                          "enum",
                                          "explicit",
                                          "export",
                                          "extern",
                                          "false",
                                          "float",
                                          "for",
                                          "friend",
                                          "goto",
                                          "if",
                                          "inline",
                                          "int",
                                          "long",
                                          "mutable",
                                          "namespace",
                                          "new",
                                          "noexcept",
                                          "not",
                                          "not_eq",
                                          "nullptr",
                                          "operator",
                                          "or",
                                          "or_eq",
                                          "private",
                                          "protected",
                                          "public",
                                          "register",
                                          "reinterpret_cast",
                                          "requires",
                                          "return",
                                          "short",
                                          "signed",
                                          "sizeof",
                                          "static",
                                          "static_assert",
                                          "static_cast",
                                          "struct",
                                          "switch",
                                          "template",
                                          "this",
                                          "thread_local",
                                          "throw",
                                          "true",
                                          "try",
                                          "typedef",
                                          "typeid",
                                          "typename",
                                          "typeof",
                                          "union",
                                          "unsigned",
                                          "using",
                                          "virtual",
                                          "void",
                                          "volatile",
                                          "wchar_t",
                                          "while",
                                          "xor",
                                          "xor_eq"};

bool is_keyword(std::string_view name) { return std::ranges::find(kKeywords, name) != std::end(kKeywords); }

/// list: names, each followed by a blank.
bool is_listed(std::string_view name, std::string_view list) {
    return list.starts_with(std::string{name} + ' ') || list.contains(' ' + std::string{name} + ' ');
}

/// Whether a C header may define the name as a macro: a name in the list, or of a family like INT_MAX.
bool is_macro(std::string_view name) {
    if (is_listed(name, kMacroNames)) return true;
    if (name.find('_') == std::string_view::npos ||
        std::ranges::any_of(name, [](unsigned char c) { return std::islower(c) != 0; })) {
        return false;
    }
    return std::ranges::any_of(kMacroFamilies, [&](std::string_view front) { return name.starts_with(front); }) ||
           std::ranges::any_of(kMacroEnds, [&](std::string_view end) { return name.ends_with(end); });
}

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Keeps letters, digits and underscores; the first character is a letter.
std::string as_name(std::string_view text) {
    std::string name;
    for (const char c : text) name += is_name_char(c) ? c : '_';
    if (name.empty() || std::isalpha(static_cast<unsigned char>(name.front())) == 0) name.insert(0, "F");
    return name;
}

/// Capitalizes the name: keywords, functions of a view and namespaces never start with a capital.
std::string as_type(std::string_view text) {
    auto name = as_name(text);
    name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
    if (is_macro(name)) name += '_';
    return name;
}

/// Converts to snake case: "NoMDEntries" becomes "no_md_entries".
std::string as_function(std::string_view text) {
    const auto name = as_name(text);
    std::string result;
    // The s of a plural belongs to the capitals before it: "PartyIDs" becomes "party_ids".
    const auto ends_capitals = [&name](std::size_t i) {
        const bool lower = i + 1 < name.size() && std::islower(static_cast<unsigned char>(name[i + 1])) != 0;
        const bool plural = lower && name[i + 1] == 's' && (i + 2 == name.size() || is_upper(name[i + 2]));
        return lower && !plural;
    };
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool begins_word = i > 0 && is_upper(name[i]) && (!is_upper(name[i - 1]) || ends_capitals(i));
        if (begins_word && result.back() != '_') result += '_';
        result += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
    }
    if (is_keyword(result) || is_macro(result)) result += '_';
    return result;
}

/// Formats text as one line of a comment.
std::string as_comment(std::string text) {
    std::ranges::replace_if(text, [](unsigned char c) { return std::iscntrl(c) != 0 || c == '\\'; }, '?');
    return text;
}

/// Escapes text for a string literal.
std::string as_literal(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result;
}

/// The names that are used in a scope.
class Scope {
public:
    explicit Scope(std::set<std::string> used = {}) : used_(std::move(used)) {}

    /// Adds `name`, with `end` appended if it is already used.
    std::string add(std::string name, const std::string& end) {
        while (!used_.insert(name).second) name += "_" + end;
        return name;
    }

private:
    std::set<std::string> used_;
};

std::string_view accessor(FieldType type) {
    switch (type) {
        case FieldType::character: return "character";
        case FieldType::boolean: return "boolean";
        case FieldType::integer: return "integer";
        case FieldType::count:
        case FieldType::length:
        case FieldType::group_count: return "unsigned_integer";
        case FieldType::decimal: return "decimal";
        case FieldType::utc_timestamp: return "utc_timestamp_ns";
        case FieldType::utc_time: return "utc_time_ns";
        case FieldType::utc_date: return "utc_date_ns";
        case FieldType::text:
        case FieldType::multiple:
        case FieldType::local_date:
        case FieldType::data: return "text";
    }
    return "text";
}

class Generator {
public:
    Generator(const Dictionary& dictionary, const HeaderOptions& options)
        : dictionary_(dictionary), options_(options) {}

    std::string run() {
        for (const auto* message : chosen()) add_view(*message);
        std::string text = "// Generated by `millpond fix generate` from the dictionary of " +
                           dictionary_.version_name() +
                           ".\n#pragma once\n\n#include <string_view>\n\n#include <millpond/fix/message.hpp>\n"
                           "#include <millpond/fix/typed_group.hpp>\n\nnamespace " +
                           options_.name_space + " {\n\nnamespace fix = millpond::fix;\n\n" + tags();
        if (!groups_.empty()) text += "namespace group {\n\n" + groups_ + "}  // namespace group\n\n";
        return text + views_ + "}  // namespace " + options_.name_space + "\n";
    }

private:
    [[nodiscard]] std::vector<const MessageDefinition*> chosen() const {
        std::vector<const MessageDefinition*> messages;
        if (options_.message_types.empty()) {
            for (const auto& [type, message] : dictionary_.messages()) messages.push_back(&message);
        }
        for (const auto& type : options_.message_types) {
            const auto* message = dictionary_.message(type);
            if (message == nullptr) throw std::invalid_argument("the dictionary has no message of type '" + type + "'");
            messages.push_back(message);
        }
        return messages;
    }

    [[nodiscard]] std::string tags() const {
        std::string text = "namespace tag {\n\n";
        Scope scope;
        for (const auto& [tag, field] : dictionary_.fields()) {
            const auto number = std::to_string(tag);
            text += "inline constexpr fix::Tag k" + scope.add(as_name(field.name), number) + " = " + number + ";\n";
        }
        return text + "\n}  // namespace tag\n\n";
    }

    [[nodiscard]] std::string name_of(Tag tag) const {
        const auto* field = dictionary_.field(tag);
        return field == nullptr ? "Tag" + std::to_string(tag) : field->name;
    }

    /// Returns the name of the group's view, and generates the view unless an equal one exists. Nested groups come
    /// first.
    std::string add_group(const FieldSet::Member& counter) {
        const auto& group = *counter.group;
        std::string members;
        std::string entries = accessors(group, true);
        for (const auto& member : group.members()) {
            members += "    {" + std::to_string(member.tag);
            if (member.group) members += ", &k" + add_group(member) + "Shape";
            members += "},\n";
        }
        const auto contents = std::to_string(group.first()) + members + entries;
        auto& known = known_groups_[contents];
        if (!known.empty()) return known;
        auto name = as_type(name_of(counter.tag));
        for (auto number = 1; !group_names_.insert(name).second;) {
            name = as_type(name_of(counter.tag)) + std::to_string(++number);
        }
        known = name;
        groups_ += "inline constexpr fix::GroupShape::Member k" + name + "Members[] = {\n" + members + "};\n" +
                   "inline constexpr fix::GroupShape k" + name + "Shape{.first_tag = " + std::to_string(group.first()) +
                   ", .members = k" + name + "Members};\n\n" + "/// One instance of what " +
                   as_comment(name_of(counter.tag)) + "(" + std::to_string(counter.tag) + ") counts.\nclass " + name +
                   " {\npublic:\n    explicit " + name +
                   "(const fix::BasicGroupEntry<fix::GroupShape>& fields) noexcept : fields_(fields) {}\n" +
                   "    [[nodiscard]] const auto& fields() const noexcept { return fields_; }\n" + entries +
                   "\nprivate:\n    fix::BasicGroupEntry<fix::GroupShape> fields_;\n};\n\n";
        return name;
    }

    /// Generates a function for each field, with the tag appended to its name if two names are equal in lower case.
    std::string accessors(const FieldSet& set, bool in_group) {
        std::string text;
        Scope scope{{"fields", "fields_", "message", "message_", "is"}};
        for (const auto& member : set.members()) {
            const auto tag = std::to_string(member.tag);
            const auto name = scope.add(as_function(name_of(member.tag)), tag);
            text += "    [[nodiscard]] auto " + name + "() const noexcept {\n";
            if (!member.group) {
                const auto* field = dictionary_.field(member.tag);
                text += "        return " + std::string{in_group ? "fields_." : "message_->"} +
                        std::string{accessor(field == nullptr ? FieldType::text : field->type)} + "(" + tag + ");\n";
            } else if (in_group) {
                text += "        return fix::TypedGroup<" + add_group(member) + ">{fields_.group(" + tag + ")};\n";
            } else {
                const auto group = "group::" + add_group(member);
                text += "        return fix::typed_group<" + group + ">(*message_, group::k" + group.substr(7) +
                        "Shape, " + tag + ");\n";
            }
            text += "    }\n";
        }
        return text;
    }

    void add_view(const MessageDefinition& message) {
        const auto name = view_names_.add(as_type(message.name), as_name(message.type));
        views_ += "/// " + as_comment(message.name + ", MsgType " + message.type) + ".\nclass " + name +
                  " {\npublic:\n    static constexpr std::string_view kMsgType = \"" + as_literal(message.type) +
                  "\";\n\n    /// message: of this type; must outlive the view.\n    explicit " + name +
                  "(const fix::Message& message) noexcept : message_(&message) {}\n"
                  "    [[nodiscard]] static bool is(const fix::Message& message) noexcept {\n"
                  "        return message.msg_type() == kMsgType;\n    }\n"
                  "    [[nodiscard]] const fix::Message& message() const noexcept { return *message_; }\n\n" +
                  accessors(message.fields, false) + "\nprivate:\n    const fix::Message* message_;\n};\n\n";
    }

    const Dictionary& dictionary_;
    const HeaderOptions& options_;
    std::map<std::string, std::string> known_groups_;  // names of views by their contents
    std::set<std::string> group_names_;
    Scope view_names_;
    std::string groups_;
    std::string views_;
};

/// Whether a user's namespace may have this name: not a keyword or a reserved name. The generated header calls
/// millpond::fix `fix`, and contains namespaces `tag` and `group`.
bool is_namespace_name(std::string_view name) {
    if (name.empty() || !std::ranges::all_of(name, is_name_char)) return false;
    if (std::isdigit(static_cast<unsigned char>(name.front())) != 0 || is_keyword(name) || is_macro(name) ||
        name == "std")
        return false;
    const bool is_reserved = name.find("__") != std::string_view::npos ||
                             (name.size() > 1 && name[0] == '_' && is_upper(name[1])) || name[0] == '_';
    return !is_reserved;
}

/// Whether the name is valid for a global namespace.
bool is_outermost(std::string_view name) {
    const bool is_future_std = name.starts_with("std") && std::ranges::all_of(name.substr(3), [](unsigned char c) {
                                   return std::isdigit(c) != 0;
                               });
    return name != "millpond" && name != "posix" && !is_future_std && !is_listed(name, kGlobalNames);
}

void check_namespace(std::string_view name_space) {
    for (auto rest = name_space;;) {
        const auto end = rest.find("::");
        const auto name = rest.substr(0, end);
        if (!is_namespace_name(name) || (rest.size() == name_space.size() && !is_outermost(name))) {
            throw std::invalid_argument("'" + std::string{name_space} + "' cannot be a namespace: '" +
                                        std::string{name} +
                                        "' is no identifier, or C++ or a header of C or POSIX uses it");
        }
        if (end == std::string_view::npos) return;
        rest.remove_prefix(end + 2);
    }
}

}  // namespace

std::string generate_header(const Dictionary& dictionary, const HeaderOptions& options) {
    check_namespace(options.name_space);
    return Generator{dictionary, options}.run();
}

}  // namespace millpond::fix
