#include "service/settings/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "service/config_error.hpp"

namespace millpond::settings {

ConfigErrors::ConfigErrors(std::vector<std::string> all)
    : service::ConfigError(fmt::format("{}", fmt::join(all, "\n"))), all_(std::move(all)) {}

void Errors::add(std::string text) {
    if (std::ranges::find(all_, text) == all_.end()) all_.push_back(std::move(text));
}

void Errors::begin_with(const std::string& prefix) {
    for (auto& text : all_) {
        if (!text.starts_with(prefix + ":")) text = fmt::format("{}: {}", prefix, text);
    }
}

void Errors::throw_if_any() const {
    if (!all_.empty()) throw ConfigErrors(all_);
}

}  // namespace millpond::settings
