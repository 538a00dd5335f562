#include "service/password_hash.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <millpond/core/base64.hpp>

namespace millpond::service {
namespace {

constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kMinSalt = 8;
constexpr std::size_t kMinHash = 16;
constexpr std::size_t kMaxEncoded = 64;
constexpr std::size_t kMinPassword = 8;
constexpr std::size_t kMaxPassword = 64;  // a block of SHA-256
constexpr int kMaxTyped = 1'024;
constexpr std::uint64_t kMaxMemory = 256ULL << 20U;
constexpr std::uint64_t kMemorySlack = 1ULL << 20U;

std::string unpadded_base64(std::string_view bytes) {
    auto text = core::base64(bytes);
    text.erase(text.find_last_not_of('=') + 1);
    return text;
}

std::optional<std::string> from_base64(std::string text) {
    if (text.size() > 2 * kMaxEncoded || text.size() % 4 == 1 || text.find('=') != std::string::npos)
        return std::nullopt;
    const auto padding = (4 - text.size() % 4) % 4;
    text.append(padding, '=');
    std::string bytes(text.size() / 4 * 3, '\0');
    const auto size =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (size < 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(size) - padding);
    return bytes;
}

/// Parses "NAME=NUMBER" at the front of `text` and removes it, with the comma after it.
std::uint64_t parse_cost(std::string_view& text, std::string_view name) {
    const auto wrong = [&] {
        return std::invalid_argument(fmt::format("the cost parameters have no {}=NUMBER", name));
    };
    if (!text.starts_with(name) || text.substr(name.size(), 1) != "=") throw wrong();
    text.remove_prefix(name.size() + 1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) throw wrong();
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(',')) text.remove_prefix(1);
    return value;
}

/// Returns the part before the next '$' and removes it from `text`.
std::string_view next_part(std::string_view& text) {
    const auto part = text.substr(0, text.find('$'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
}

}  // namespace

std::string_view wrong_with_password(std::string_view password) noexcept {
    if (password.size() < kMinPassword) return "has less than 8 bytes";
    if (password.size() > kMaxPassword) return "has more than 64 bytes";
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; };
    return std::ranges::any_of(password, is_control) ? "has a control character" : "";
}

std::optional<std::string> ask_password() {
    std::array<char, kMaxTyped + 1> typed{};
    const auto failed = EVP_read_pw_string(typed.data(), kMaxTyped, "Password: ", 1) != 0;
    std::string password{typed.data()};
    OPENSSL_cleanse(typed.data(), typed.size());
    return failed ? std::nullopt : std::optional{std::move(password)};
}

PasswordHash PasswordHash::of(std::string_view password) {
    if (const auto wrong = wrong_with_password(password); !wrong.empty()) {
        throw std::invalid_argument(fmt::format("a password that {}", wrong));
    }
    PasswordHash made;
    made.salt_.resize(kSaltBytes);
    if (RAND_bytes(reinterpret_cast<unsigned char*>(made.salt_.data()), kSaltBytes) != 1) {
        throw std::runtime_error("no random bytes for the salt");
    }
    made.hash_ = made.derive(password, kHashBytes);
    return made;
}

PasswordHash PasswordHash::parse(std::string_view text) {
    constexpr std::string_view kForm = "$scrypt$";
    if (!text.starts_with(kForm)) throw std::invalid_argument("the hash does not begin with $scrypt$");
    text.remove_prefix(kForm.size());
    auto costs = next_part(text);
    PasswordHash read;
    read.log_cost_ = parse_cost(costs, "ln");
    read.block_size_ = parse_cost(costs, "r");
    read.parallel_ = parse_cost(costs, "p");
    if (!costs.empty()) throw std::invalid_argument("the costs are not ln, r and p");
    if (read.log_cost_ < 10 || read.log_cost_ > 20 || read.block_size_ < 1 || read.block_size_ > 32 ||
        read.parallel_ < 1 || read.parallel_ > 4 || (128 * read.block_size_ << read.log_cost_) > kMaxMemory) {
        throw std::invalid_argument("the costs are out of range: ln 10 to 20, r 1 to 32, p 1 to 4, at most 256 MiB");
    }
    const auto salt = from_base64(std::string{next_part(text)});
    const auto hash = from_base64(std::string{text});
    if (!salt || salt->size() < kMinSalt || salt->size() > kMaxEncoded) {
        throw std::invalid_argument("the salt is not 8 to 64 bytes in base64 without padding");
    }
    if (!hash || hash->size() < kMinHash || hash->size() > kMaxEncoded) {
        throw std::invalid_argument("the hash is not 16 to 64 bytes in base64 without padding");
    }
    read.salt_ = *salt;
    read.hash_ = *hash;
    return read;
}

std::string PasswordHash::text() const {
    return fmt::format("$scrypt$ln={},r={},p={}${}${}", log_cost_, block_size_, parallel_, unpadded_base64(salt_),
                       unpadded_base64(hash_));
}

bool PasswordHash::admits(std::string_view password) const {
    const auto derived = derive(password, hash_.size());
    const bool same = CRYPTO_memcmp(derived.data(), hash_.data(), hash_.size()) == 0;
    return same && wrong_with_password(password).empty();
}

std::string PasswordHash::derive(std::string_view password, std::size_t bytes) const {
    std::string derived(bytes, '\0');
    const auto done =
        EVP_PBE_scrypt(password.data(), password.size(), reinterpret_cast<const unsigned char*>(salt_.data()),
                       salt_.size(), 1ULL << log_cost_, block_size_, parallel_, kMaxMemory + kMemorySlack,
                       reinterpret_cast<unsigned char*>(derived.data()), derived.size());
    if (done != 1) throw std::runtime_error("scrypt failed: no memory");
    return derived;
}

}  // namespace millpond::service
