#include "service/token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "service/config_error.hpp"
#include "service/regular_file.hpp"

namespace millpond::service {
namespace {

constexpr std::size_t kMinCharacters = 16;
constexpr std::size_t kMaxCharacters = 1'024;

RegularFile read(const std::string& path, std::string_view what) try {
    return read_regular_file(path);
} catch (const std::runtime_error& error) {
    throw ConfigError(fmt::format("{} file '{}': {}", what, path, error.what()));
}

std::string secret_in(const std::string& path, std::string_view what, SecretForm form) {
    auto file = read(path, what);
    if ((file.mode & (S_IROTH | S_IWOTH)) != 0) {
        throw ConfigError(
            fmt::format("{} file '{}': any user may read or write it; run: chmod o-rw '{}'", what, path, path));
    }
    if (form == SecretForm::text) return std::move(file.text);
    auto line = file.text.substr(0, file.text.find('\n'));
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
}

std::string place_of(const TokenSource& source, std::string_view what) {
    if (!source.file.empty()) return fmt::format("{} file '{}'", what, source.file);
    return fmt::format("{} in environment variable '{}'", what, source.environment);
}

/// Returns the secret, or throws if it cannot be one.
std::string usable(std::string secret, const TokenSource& source, std::string_view what, SecretForm form) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    if (std::ranges::all_of(secret, is_blank)) {
        throw ConfigError(place_of(source, what) +
                          (source.file.empty() ? ": it is empty" : ": its first line is empty"));
    }
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
    if (form == SecretForm::line && std::ranges::any_of(secret, is_control))
        throw ConfigError(place_of(source, what) + ": holds control characters");
    return secret;
}

}  // namespace

std::string read_secret(const TokenSource& source, std::string_view what, SecretForm form) {
    if (source.empty()) return {};
    if (!source.file.empty() && !source.environment.empty()) {
        throw ConfigError(fmt::format("{}: file '{}' and environment variable '{}' are both set; keep one", what,
                                      source.file, source.environment));
    }
    if (!source.file.empty()) return usable(secret_in(source.file, what, form), source, what, form);
    const char* value = std::getenv(source.environment.c_str());  // NOLINT(concurrency-mt-unsafe): at start
    if (value == nullptr) throw ConfigError(place_of(source, what) + ": it is not set");
    return usable(value, source, what, form);
}

Token::Token(const TokenSource& source) {
    if (source.empty()) return;
    secret_ = read_secret(source, "token");
    const auto place = place_of(source, "token");
    if (secret_.size() < kMinCharacters || secret_.size() > kMaxCharacters) {
        throw ConfigError(fmt::format("{}: has {} characters, needs {} to {}; run: openssl rand -hex 32", place,
                                      secret_.size(), kMinCharacters, kMaxCharacters));
    }
    if (!std::all_of(secret_.begin(), secret_.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; })) {
        throw ConfigError(place + ": may hold visible ASCII characters without '\"' and '\\' only");
    }
}

bool Token::admits(std::string_view shown) const noexcept {
    if (secret_.empty()) return true;
    // Compares every character, even after a difference: the time reveals only the presented length, which is known.
    unsigned different = shown.size() == secret_.size() ? 0U : 1U;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const auto wanted = static_cast<unsigned char>(secret_[i % secret_.size()]);
        const volatile unsigned difference = wanted ^ static_cast<unsigned char>(shown[i]);
        different |= difference;
    }
    return different == 0;
}

bool Token::admits_bearer(std::string_view authorization) const noexcept {
    constexpr std::string_view kScheme = "bearer ";  // case-insensitive: RFC 7235, section 2.1
    if (secret_.empty()) return true;
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, {}, lower) &&
           admits(authorization.substr(kScheme.size()));
}

}  // namespace millpond::service
