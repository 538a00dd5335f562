#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <millpond/net/socket_address.hpp>

namespace millpond::settings {

/// The words of a setting with a fixed choice.
template <class Enum>
using Words = std::span<const std::pair<std::string_view, Enum>>;

/// A value with its place. Each accessor returns it in a type, or throws a ConfigError.
///
/// A value from a file has the type that TOML gave it. A value from the command line is bare text that is converted to
/// the requested type.
class Value {
public:
    /// Bare text from the command line.
    struct Bare {
        std::string text;
    };
    using List = std::vector<std::string>;
    struct Entry;
    /// A table inside a section, in the order of its keys.
    using Table = std::shared_ptr<const std::vector<Entry>>;
    using Data = std::variant<Bare, std::string, std::int64_t, double, bool, List, Table, std::monostate>;

    /// where: the place for messages; key: the setting's name as a user writes it; monostate is any other type of TOML,
    /// whose name is `other`.
    Value(std::string where, std::string key, Data data, std::string_view other = {})
        : where_(std::move(where)), key_(std::move(key)), data_(std::move(data)), other_(other) {}

    [[nodiscard]] std::string text() const;
    /// A text that is not empty: an empty one could mean none or the default.
    [[nodiscard]] std::string nonempty_text() const;
    /// A list of strings; on the command line, words with '+' between them.
    [[nodiscard]] List list() const;
    /// A list that is not empty: an empty allow list could mean all or none.
    [[nodiscard]] List nonempty_list() const;
    /// The keys of a table, each with its place. Tables cannot be written on the command line.
    [[nodiscard]] const std::vector<Entry>& table() const;
    [[nodiscard]] bool is_table() const noexcept { return std::holds_alternative<Table>(data_); }
    /// The value of a FIX field: a string, an integer, or a boolean as Y or N.
    [[nodiscard]] std::string field_text() const;
    /// The place: "fix.toml:12".
    [[nodiscard]] const std::string& where() const noexcept { return where_; }
    /// Printable ASCII of 1 to `characters` characters.
    [[nodiscard]] std::string text_up_to(std::size_t characters) const;
    [[nodiscard]] std::uint64_t integer(std::uint64_t lowest, std::uint64_t highest) const;
    /// An integer, or nullopt for the word.
    [[nodiscard]] std::optional<std::uint64_t> integer_or(std::string_view word, std::uint64_t lowest,
                                                          std::uint64_t highest) const;
    /// An integer that is a power of two.
    [[nodiscard]] std::uint64_t power_of_two(std::uint64_t lowest, std::uint64_t highest) const;
    /// A number of bytes: an integer, or text with the unit KiB, MiB or GiB.
    [[nodiscard]] std::uint64_t bytes() const;
    /// A time: text of a whole number and the unit ns, us, ms or s.
    [[nodiscard]] std::chrono::nanoseconds time(std::chrono::nanoseconds min, std::chrono::nanoseconds max) const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] net::SocketAddress endpoint() const;
    /// An address without a port.
    [[nodiscard]] net::SocketAddress host() const;
    /// YYYY-MM-DD, as text.
    [[nodiscard]] std::string date() const;

    template <class Enum>
    [[nodiscard]] Enum choice(Words<Enum> words) const {
        const auto chosen = text();
        std::string list;
        for (const auto& [word, value] : words) {
            if (word == chosen) return value;
            list += list.empty() ? "" : ", ";
            list += word;
        }
        fail("one of " + list, "'" + chosen + "'");
    }

    /// Throws "WHERE: KEY expects EXPECTED, found FOUND".
    [[noreturn]] void fail(std::string_view expected, std::string_view found) const;

private:
    [[nodiscard]] std::string type_name() const;
    [[nodiscard]] std::uint64_t integer(std::uint64_t lowest, std::uint64_t highest, std::string_view expected) const;

    std::string where_;
    std::string key_;
    Data data_;
    std::string_view other_;
};

struct Value::Entry {
    std::string key;
    Value value;
};

}  // namespace millpond::settings
