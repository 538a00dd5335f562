#include "gateway/token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/stat.h>

#include "gateway/config/value.hpp"

namespace millpond::gateway {
namespace {

constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 1'024;

std::string first_line_of(const std::string& path) {
    struct stat facts{};
    std::ifstream in{path};
    std::string line;
    if (!in || stat(path.c_str(), &facts) != 0) {
        throw ConfigError(fmt::format("token file '{}': {}", path, std::generic_category().message(errno)));
    }
    if ((facts.st_mode & (S_IROTH | S_IWOTH)) != 0) {
        throw ConfigError(
            fmt::format("token file '{}': any user may read or write it; run: chmod o-rw '{}'", path, path));
    }
    std::getline(in, line);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
}

}  // namespace

Token::Token(const TokenSource& source) {
    if (source.empty()) return;
    if (!source.file.empty() && !source.environment.empty()) {
        throw ConfigError(fmt::format("token: file '{}' and environment variable '{}' are both named; keep one",
                                      source.file, source.environment));
    }
    std::string place;
    if (!source.file.empty()) {
        place = fmt::format("token file '{}'", source.file);
        secret_ = first_line_of(source.file);
    } else {
        place = fmt::format("token in environment variable '{}'", source.environment);
        const char* value = std::getenv(source.environment.c_str());  // NOLINT(concurrency-mt-unsafe): at start
        if (value == nullptr) throw ConfigError(place + ": it is not set");
        secret_ = value;
    }
    if (secret_.size() < kShortest || secret_.size() > kLongest) {
        throw ConfigError(fmt::format("{}: has {} characters, needs {} to {}; run: openssl rand -hex 32", place,
                                      secret_.size(), kShortest, kLongest));
    }
    if (!std::all_of(secret_.begin(), secret_.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; })) {
        throw ConfigError(place + ": may hold visible ASCII characters without '\"' and '\\' only");
    }
}

bool Token::admits(std::string_view shown) const noexcept {
    if (secret_.empty()) return true;
    // Every character is looked at, whatever was found before: the time tells the length shown, which is known.
    unsigned different = shown.size() == secret_.size() ? 0U : 1U;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const auto wanted = static_cast<unsigned char>(secret_[i % secret_.size()]);
        const volatile unsigned difference = wanted ^ static_cast<unsigned char>(shown[i]);
        different |= difference;
    }
    return different == 0;
}

bool Token::admits_bearer(std::string_view authorization) const noexcept {
    constexpr std::string_view kScheme = "Bearer ";
    if (secret_.empty()) return true;
    return authorization.starts_with(kScheme) && admits(authorization.substr(kScheme.size()));
}

}  // namespace millpond::gateway
