#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "service/config_error.hpp"

namespace millpond::settings {

/// All errors of a configuration; `what` has one per line.
class ConfigErrors : public service::ConfigError {
public:
    explicit ConfigErrors(std::vector<std::string> all);
    [[nodiscard]] const std::vector<std::string>& all() const noexcept { return all_; }

private:
    std::vector<std::string> all_;
};

/// Collects the errors of a configuration, so that one check lists all of them.
///
/// Threads: one.
class Errors {
public:
    /// Runs `check` and stores the message of its exception. Returns false if it threw.
    template <class Check>
    bool check(Check&& check) {
        try {
            std::forward<Check>(check)();
            return true;
        } catch (const ConfigErrors& errors) {
            for (const auto& text : errors.all()) add(text);
            return false;
        } catch (const std::exception& error) {
            add(error.what());
            return false;
        }
    }
    /// Ignores an error that was added before.
    void add(std::string text);
    /// Prepends "PREFIX: " to each error that does not begin with "PREFIX:".
    void begin_with(const std::string& prefix);

    [[nodiscard]] const std::vector<std::string>& all() const noexcept { return all_; }
    /// Throws ConfigErrors with all errors, if any.
    void throw_if_any() const;

private:
    std::vector<std::string> all_;
};

}  // namespace millpond::settings
