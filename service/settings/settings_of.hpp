#pragma once

#include <algorithm>
#include <any>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::settings {

/// Place of a table, for messages: "gateway.toml:12" or "--feed". Ignored when settings are compared.
struct Origin {
    std::string where;
    bool is_bad{false};                 ///< A key of the table has an error; combinations of its keys are not checked.
    std::vector<std::string> unread{};  ///< Keys whose values could not be read; they have their defaults.

    [[nodiscard]] bool has_not_read(std::string_view key) const {
        return std::ranges::find(unread, key) != unread.end();
    }

    /// The place as a prefix, "gateway.toml:12: "; empty if it is unknown.
    [[nodiscard]] std::string prefix() const { return where.empty() ? where : where + ": "; }
    friend bool operator==(const Origin&, const Origin&) noexcept { return true; }
};

/// Settings of a type that only `Kind` knows: a constant object that creates them with defaults() and compares them
/// with equal().
template <class Kind>
class SettingsOf {
public:
    explicit SettingsOf(const Kind& kind) : kind_(&kind), settings_(kind.defaults()) {}

    /// The settings if they have this type, else null.
    template <class Settings>
    [[nodiscard]] Settings* as() noexcept {
        return std::any_cast<Settings>(&settings_);
    }
    template <class Settings>
    [[nodiscard]] const Settings* as() const noexcept {
        return std::any_cast<Settings>(&settings_);
    }

    friend bool operator==(const SettingsOf& left, const SettingsOf& right) {
        return left.kind_ == right.kind_ && left.kind_->equal(left.settings_, right.settings_);
    }

protected:
    const Kind* kind_;
    std::any settings_;
};

}  // namespace millpond::settings
