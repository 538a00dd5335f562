#include "apps/millpond/command_line/number_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "apps/millpond/command_line/arguments.hpp"
#include "service/settings/nearest.hpp"

namespace millpond::app {
namespace {

template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// Makes a check of a finite number by the predicate `good`. expected: description for the error.
template <class Good>
Check number_where(std::string expected, Good good) {
    return [expected, good](const std::string& text) {
        const auto number = parse<double>(text);
        if (number && std::isfinite(*number) && good(*number)) return std::string{};
        return fmt::format("expects {}, found '{}'", expected, text);
    };
}

}  // namespace

Check whole_number(std::uint64_t min, std::uint64_t max) {
    return [min, max](const std::string& text) -> std::string {
        const auto number = parse<std::uint64_t>(text);
        // A leading 0 would be read as octal.
        const bool is_decimal = number && (text.size() == 1 || text.front() != '0');
        if (is_decimal && *number >= min && *number <= max) return {};
        return max == UINT64_MAX ? fmt::format("expects a whole number of at least {}, found '{}'", min, text)
                                 : fmt::format("expects a whole number from {} to {}, found '{}'", min, max, text);
    };
}

Check power_of_two(std::uint64_t min, std::uint64_t max) {
    return [is_number = whole_number(min, max)](const std::string& text) -> std::string {
        if (auto fault = is_number(text); !fault.empty()) return fault;
        if (std::has_single_bit(*parse<std::uint64_t>(text))) return {};
        return fmt::format("expects a power of two, found '{}'", text);
    };
}

Check number_between(double min, double max) {
    return number_where(fmt::format("a number from {} to {}", min, max),
                        [min, max](double number) { return number >= min && number <= max; });
}

// Defined here because the parser's file must not include service.
Option* Option::nonempty() {
    return check([](const std::string& text) { return text.empty() ? std::string{"it is empty"} : std::string{}; });
}

Option* Option::one_of(std::initializer_list<std::string> words) {
    const std::vector<std::string> known{words};
    check([known](const std::string& text) -> std::string {
        if (std::ranges::find(known, text) != known.end()) return {};
        const auto hint = settings::did_you_mean(text, std::vector<std::string_view>{known.begin(), known.end()});
        return fmt::format("'{}' is not one of {}{}{}", text, fmt::join(known, ", "), hint.empty() ? "" : "; ", hint);
    });
    return type_name(fmt::format("{}:{{{}}}", type(), fmt::join(known, ",")));
}

void check_unsigned_options(const Arguments& program) {
    for (auto& option : program.options()) {
        if (option.type().starts_with("UINT")) option.check(whole_number());
    }
    for (const auto& command : program.subcommands()) check_unsigned_options(command);
}

}  // namespace millpond::app
