#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace millpond::python {

/// What is wrong with a file, where, and the bound that was broken: the first 100, and how many there are.
class ErrorList {
public:
    void add(std::string error) {
        if (counts_one()) texts_.push_back(std::move(error));
    }
    /// text() is called only if the error is kept.
    template <std::invocable Text>
    void add(Text&& text) {
        if (counts_one()) texts_.push_back(text());
    }

    [[nodiscard]] const std::vector<std::string>& texts() const noexcept { return texts_; }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

private:
    /// Whether the error is to be kept.
    [[nodiscard]] bool counts_one() noexcept {
        constexpr std::size_t kMost = 100;
        ++count_;
        return texts_.size() < kMost;
    }

    std::vector<std::string> texts_;
    std::uint64_t count_{0};
};

}  // namespace millpond::python
