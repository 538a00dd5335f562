#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace millpond::fix {

/// A sentence for Text(58), put together without allocation; what does not fit is cut off.
class ReasonText {
public:
    ReasonText& add(std::string_view part) noexcept {
        const auto fits = std::min(part.size(), room_.size() - size_);
        std::memcpy(room_.data() + size_, part.data(), fits);
        size_ += fits;
        return *this;
    }
    ReasonText& add(std::uint64_t number) noexcept {
        std::array<char, 20> digits;
        const auto* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        return add({digits.data(), static_cast<std::size_t>(end - digits.data())});
    }
    [[nodiscard]] std::string_view text() const noexcept { return {room_.data(), size_}; }

private:
    std::array<char, 160> room_;
    std::size_t size_{0};
};

}  // namespace millpond::fix
