#include "service/settings/toml.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "service/config_error.hpp"
#include "service/regular_file.hpp"
#include "service/settings/errors.hpp"

namespace millpond::settings {
namespace {

std::string place(std::string_view name, const toml::source_region& region) {
    return fmt::format("{}:{}", name, region.begin.line);
}

std::string_view type_in_words(toml::node_type type) {
    switch (type) {
        case toml::node_type::table: return "a table";
        case toml::node_type::array: return "an array";
        case toml::node_type::date: return "a date without quotes";
        case toml::node_type::time: return "a time";
        case toml::node_type::date_time: return "a date and time without quotes";
        default: return "a value";
    }
}

/// Converts an array to a list of strings; nullopt if it has other elements.
std::optional<Value::List> list_of(const toml::array& array) {
    Value::List list;
    for (const auto& element : array) {
        const auto* text = element.as_string();
        if (text == nullptr) return std::nullopt;
        list.push_back(text->get());
    }
    return list;
}

Value::Data data_of(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* integer = node.as_integer()) return integer->get();
    if (const auto* number = node.as_floating_point()) return number->get();
    if (const auto* boolean = node.as_boolean()) return boolean->get();
    if (const auto* array = node.as_array()) {
        if (auto list = list_of(*array)) return *std::move(list);
    }
    return std::monostate{};
}

class TomlDocument final : public Document {
public:
    TomlDocument(toml::table root, std::string_view name) : root_(std::move(root)), name_(name) {}

    void top_level(std::span<const std::string_view> tables, const std::function<bool(std::string_view)>& is_section,
                   const OnValue& value) const override {
        Errors errors;
        for (const auto& [key, node] : root_) {
            errors.check([&, key = &key, node = &node] {
                const bool is_table = node->is_table() || node->is_array_of_tables();
                if (is_table && std::ranges::find(tables, key->str()) == tables.end())
                    fail_unknown_table(key->str(), tables, place(name_, key->source()));
                if (!is_section(key->str())) give(*key, *node, "", section_title(""), value);
            });
        }
        errors.throw_if_any();
    }

    void sections(std::string_view name, const OnTable& begin, const OnValue& value) const override {
        const auto* node = root_.get(name);
        if (node == nullptr) return;
        const auto* tables = node->as_array();
        if (tables == nullptr || !tables->is_array_of_tables()) {
            throw service::ConfigError(
                fmt::format("{}: '{}' must be written as [[{}]]", place(name_, node->source()), name, name));
        }
        const auto title = section_title(name);
        Errors errors;
        for (const auto& element : *tables) {
            begin(place(name_, element.source()));
            for (const auto& [key, child] : *element.as_table()) {
                errors.check([&, key = &key, child = &child] { give(*key, *child, name, title, value); });
            }
        }
        errors.throw_if_any();
    }

private:
    /// table: the name of the table that has the key; title: as messages name it.
    void give(const toml::key& key, const toml::node& node, std::string_view table, std::string_view title,
              const OnValue& value) const {
        const auto where = place(name_, key.source());
        value(key.str(), where, value_of(key, node, table, title));
    }

    [[nodiscard]] Value value_of(const toml::key& key, const toml::node& node, std::string_view table,
                                 std::string_view title) const {
        const auto where = place(name_, key.source());
        auto data = data_of(node);
        if (const auto* inner = node.as_table()) {
            data = table_of(*inner, table.empty() ? std::string{key.str()} : fmt::format("{}.{}", table, key.str()));
        }
        return {where, described(title, key.str()), std::move(data), type_in_words(node.type())};
    }

    /// Converts a table, in the order of the file.
    [[nodiscard]] Value::Table table_of(const toml::table& table, std::string_view name) const {
        std::vector<std::pair<const toml::key*, const toml::node*>> nodes;
        for (const auto& [key, node] : table) nodes.emplace_back(&key, &node);
        std::ranges::sort(nodes, [](const auto& a, const auto& b) {
            const auto& left = a.first->source().begin;
            const auto& right = b.first->source().begin;
            return std::pair{left.line, left.column} < std::pair{right.line, right.column};
        });
        std::vector<Value::Entry> entries;
        for (const auto& [key, node] : nodes) {
            entries.push_back({std::string{key->str()}, value_of(*key, *node, name, table_title(name))});
        }
        return std::make_shared<const std::vector<Value::Entry>>(std::move(entries));
    }

    toml::table root_;
    std::string name_;
};

}  // namespace

std::unique_ptr<Document> Document::parse(std::string_view text, std::string_view name) {
    try {
        return std::make_unique<TomlDocument>(toml::parse(text), name);
    } catch (const toml::parse_error& error) {
        throw service::ConfigError(fmt::format("{}: {}", place(name, error.source()), error.description()));
    }
}

std::string text_of(const std::string& path) try {
    return service::read_regular_file(path).text;
} catch (const std::runtime_error& error) {
    throw service::ConfigError(fmt::format("{}: cannot read: {}", path, error.what()));
}

std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text, std::string_view flag) {
    std::vector<std::pair<std::string, std::string>> pairs;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        const auto pair = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const auto equals = pair.find('=');
        if (equals == std::string_view::npos) {
            throw service::ConfigError(fmt::format("{}: expects KEY=VALUE,KEY=VALUE, found '{}'", flag, pair));
        }
        const auto key = pair.substr(0, equals);
        if (std::ranges::any_of(pairs, [key](const auto& before) { return before.first == key; })) {
            throw service::ConfigError(fmt::format("{}: key '{}' is given twice", flag, key));
        }
        pairs.emplace_back(key, pair.substr(equals + 1));
    }
    return pairs;
}

}  // namespace millpond::settings
