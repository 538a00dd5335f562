#pragma once

#include <any>
#include <string>

namespace millpond::settings {

/// Where a table was written, for messages: "gateway.toml:12", or "--feed". It makes no two settings differ.
struct Origin {
    std::string where;

    /// "gateway.toml:12: ", or nothing when that is not known.
    [[nodiscard]] std::string prefix() const { return where.empty() ? where : where + ": "; }
    friend bool operator==(const Origin&, const Origin&) noexcept { return true; }
};

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
