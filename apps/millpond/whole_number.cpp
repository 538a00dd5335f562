#include "apps/millpond/whole_number.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace millpond::app {

CLI::Validator whole_number(std::uint64_t lowest, std::uint64_t highest) {
    const auto check = [lowest, highest](const std::string& text) -> std::string {
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        // A 0 in front would be read as octal.
        const bool is_decimal =
            error == std::errc{} && end == text.data() + text.size() && (text.size() == 1 || text.front() != '0');
        if (is_decimal && number >= lowest && number <= highest) return {};
        return highest == UINT64_MAX
                   ? fmt::format("expects a whole number from {} on, found '{}'", lowest, text)
                   : fmt::format("expects a whole number from {} to {}, found '{}'", lowest, highest, text);
    };
    return CLI::Validator{check, ""};
}

}  // namespace millpond::app
