#include "apps/millpond/top/daemon_address.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "apps/millpond/command_line/command.hpp"

namespace millpond::app {

std::string token_from(const std::string& variable) {
    if (variable.empty()) return {};
    const char* token = std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe): at start
    if (token == nullptr) throw UsageError(fmt::format("--token-env: variable '{}' is not set", variable));
    return token;
}

net::SocketAddress daemon_address(const std::string& flag, const std::string& text) {
    constexpr std::string_view kLocalhost = "localhost:";
    constexpr std::string_view kHttp = "http://";
    constexpr std::string_view kHttps = "https://";
    std::string_view given{text};
    if (given.starts_with(kHttps)) {
        throw UsageError(fmt::format("{}: '{}': HTTP without TLS only; use the metrics address", flag, given));
    }
    if (given.starts_with(kHttp)) {
        given.remove_prefix(kHttp.size());
        given = given.substr(0, given.find_first_of("/?#"));
        if (given == "localhost" || (!given.ends_with(']') && !given.contains(':')))
            throw UsageError(fmt::format("{}: '{}' has no port", flag, text));
    }
    try {
        return net::SocketAddress::parse(given.starts_with(kLocalhost)
                                             ? fmt::format("127.0.0.1:{}", given.substr(kLocalhost.size()))
                                             : std::string{given});
    } catch (const std::invalid_argument& error) {
        throw UsageError(fmt::format("{}: {}", flag, error.what()));
    }
}

}  // namespace millpond::app
