#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "service/settings/schema.hpp"

namespace millpond::settings {

/// Formats bytes as "256MiB" if that is exact, otherwise as the number.
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// Formats a time as "100us", in its largest exact unit; empty if it is 0.
[[nodiscard]] std::string time_text(std::chrono::nanoseconds time);

/// Keys whose value is one field of a section, so that reading and printing it are declared together:
///
///     using K = KeyOf<Settings>;
///     constexpr Key<Settings> kKeys[] = {K::integer<&Settings::keep, 0, 100>("keep", "N", "Number of files to
///     keep.")};
///
/// Field: a member pointer, or a lambda that returns a reference to the field.
template <class Section>
struct KeyOf {
    using Name = std::string_view;

    template <auto Field>
    static constexpr Key<Section> text(Name name, Name shape, Name help) {
        return {name, shape, help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.nonempty_text(); },
                [](const Section& s) { return std::string{std::invoke(Field, s)}; }};
    }
    /// A path of a file that is read: a reload compares its contents.
    template <auto Field>
    static constexpr Key<Section> file(Name name, Name help) {
        auto key = text<Field>(name, "FILE", help);
        key.is_read = true;
        return key;
    }
    template <auto Field, std::size_t Max>
    static constexpr Key<Section> short_text(Name name, Name shape, Name help) {
        return {name, shape, help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.text_up_to(Max); },
                [](const Section& s) { return std::string{std::invoke(Field, s)}; }};
    }
    /// Field: an integer or an optional integer.
    template <auto Field, std::uint64_t Min, std::uint64_t Max>
    static constexpr Key<Section> integer(Name name, Name shape, Name help) {
        return {name, shape, help,
                [](Section& s, const Value& v) {
                    std::invoke(Field, s) = static_cast<NumberOf<Field>>(v.integer(Min, Max));
                },
                [](const Section& s) { return number_text(std::invoke(Field, s)); }};
    }
    template <auto Field, std::uint64_t Min, std::uint64_t Max>
    static constexpr Key<Section> power_of_two(Name name, Name shape, Name help) {
        return {name, shape, help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.power_of_two(Min, Max); },
                [](const Section& s) { return number_text(std::invoke(Field, s)); }};
    }
    /// A number of Units, for a field of any std::chrono::duration.
    template <auto Field, class Unit, std::uint64_t Min, std::uint64_t Max>
    static constexpr Key<Section> duration(Name name, Name help) {
        return {name, "N", help, [](Section& s, const Value& v) { std::invoke(Field, s) = Unit{v.integer(Min, Max)}; },
                [](const Section& s) {
                    return std::to_string(std::chrono::duration_cast<Unit>(std::invoke(Field, s)).count());
                }};
    }
    /// A time with a unit such as 100us, for a field of type std::chrono::nanoseconds. Min, Max: nanoseconds.
    template <auto Field, std::int64_t Min, std::int64_t Max>
    static constexpr Key<Section> time(Name name, Name help) {
        return {name, "TIME", help,
                [](Section& s, const Value& v) {
                    std::invoke(Field, s) = v.time(std::chrono::nanoseconds{Min}, std::chrono::nanoseconds{Max});
                },
                [](const Section& s) { return time_text(std::invoke(Field, s)); }};
    }
    template <auto Field>
    static constexpr Key<Section> bytes(Name name, Name help) {
        return {name, "BYTES", help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.bytes(); },
                [](const Section& s) { return bytes_text(std::invoke(Field, s)); }};
    }
    template <auto Field>
    static constexpr Key<Section> boolean(Name name, Name help) {
        return {name, "true|false", help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.boolean(); },
                [](const Section& s) { return std::string{std::invoke(Field, s) ? "true" : "false"}; }};
    }
    template <auto Field>
    static constexpr Key<Section> endpoint(Name name, Name help) {
        return {name, "ADDRESS:PORT", help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.endpoint(); },
                [](const Section& s) { return address_text(std::invoke(Field, s)); }};
    }
    template <auto Field>
    static constexpr Key<Section> host(Name name, Name help) {
        return {name, "ADDRESS", help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.host(); },
                [](const Section& s) { return address_text(std::invoke(Field, s)); }};
    }
    template <auto Field>
    static constexpr Key<Section> list(Name name, Name shape, Name help) {
        return {name, shape, help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.list(); },
                [](const Section& s) { return list_text(std::invoke(Field, s)); }};
    }
    template <auto Field>
    static constexpr Key<Section> nonempty_list(Name name, Name shape, Name help) {
        return {name, shape, help, [](Section& s, const Value& v) { std::invoke(Field, s) = v.nonempty_list(); },
                [](const Section& s) { return list_text(std::invoke(Field, s)); }};
    }
    /// Words: an array of pairs of a word and its value, with static storage.
    template <auto Field, const auto& Words>
    static constexpr Key<Section> choice(Name name, Name shape, Name help) {
        using Value_ = std::remove_cvref_t<decltype(std::begin(Words)->second)>;
        return {name, shape, help,
                [](Section& s, const Value& v) { std::invoke(Field, s) = v.template choice<Value_>(Words); },
                [](const Section& s) { return word_of<Value_>(std::invoke(Field, s), Words); }};
    }

    /// A key of an earlier version, which is refused with the value that it is fixed to.
    static constexpr Key<Section> removed(Name name, Name value) { return {name, "", value, nullptr}; }

private:
    template <class T>
    struct Plain {
        using Type = T;
    };
    template <class T>
    struct Plain<std::optional<T>> {
        using Type = T;
    };
    template <auto Field>
    using NumberOf = typename Plain<std::remove_cvref_t<decltype(std::invoke(Field, std::declval<Section&>()))>>::Type;

    template <class T>
    static std::string number_text(const T& number) {
        return std::to_string(number);
    }
    template <class T>
    static std::string number_text(const std::optional<T>& number) {
        return number ? std::to_string(*number) : std::string{};
    }
    static std::string address_text(const net::SocketAddress& address) {
        return address.empty() ? std::string{} : address.to_string();
    }
    static std::string list_text(const std::vector<std::string>& list) {
        std::string text;
        for (const auto& one : list) text += (text.empty() ? "" : ",") + one;
        return text;
    }
    template <class T, class Field>
    static std::string word_of(const Field& value, std::span<const std::pair<std::string_view, T>> words) {
        for (const auto& [word, known] : words) {
            if (value == known) return std::string{word};
        }
        return {};
    }
};

}  // namespace millpond::settings
