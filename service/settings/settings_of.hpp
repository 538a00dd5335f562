#pragma once

#include <any>

namespace millpond::settings {

/// Settings of a type that only their `Kind` knows: a constant object that makes them with defaults() and compares them
/// with equal().
template <class Kind>
class SettingsOf {
public:
    explicit SettingsOf(const Kind& kind) : kind_(&kind), settings_(kind.defaults()) {}

    /// The settings when they are of this type, else null.
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
