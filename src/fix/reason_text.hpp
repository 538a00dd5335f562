#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millpond::fix {

/// A sentence for Text(58), composed without allocation; text that does not fit is cut off.
class ReasonText {
public:
    ReasonText& add(std::string_view part) noexcept {
        size_ += part.copy(text_.data() + size_, text_.size() - size_);
        return *this;
    }
    ReasonText& add(std::uint64_t number) noexcept {
        std::array<char, 20> digits;
        const auto* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        return add({digits.data(), static_cast<std::size_t>(end - digits.data())});
    }
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

private:
    std::array<char, 160> text_;
    std::size_t size_{0};
};

}  // namespace millpond::fix
