#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace millpond::service {

/// A setting that cannot be used. The message begins with the place ("gateway.toml:12" or "--feed"), then names the
/// key, what it expects and what was found.
class ConfigError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns the result of `work`. Throws ConfigError with "SUBJECT: " before the message of an exception.
template <class Work>
decltype(auto) named(std::string_view subject, Work&& work) try {
    return std::forward<Work>(work)();
} catch (const std::exception& error) {
    throw ConfigError(std::string{subject} + ": " + error.what());
}

}  // namespace millpond::service
