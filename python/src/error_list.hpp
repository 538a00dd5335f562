#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace millpond::python {

/// Errors of a file, each with its place and the violated bound: the first 100, and their number.
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
    /// Counts an error. Returns whether it is to be kept.
    [[nodiscard]] bool counts_one() noexcept {
        constexpr std::size_t kMax = 100;
        ++count_;
        return texts_.size() < kMax;
    }

    std::vector<std::string> texts_;
    std::uint64_t count_{0};
};

}  // namespace millpond::python
