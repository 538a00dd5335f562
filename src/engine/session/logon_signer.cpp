#include <millpond/engine/logon_signer.hpp>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <millpond/core/base64.hpp>

namespace millpond::engine {
namespace {

constexpr fix::Tag kRawData = 96;
constexpr fix::Tag kNonce = 5025;
constexpr fix::Tag kAccessKey = 9407;
constexpr fix::Tag kExpires = 30023;
constexpr std::int64_t kValidMillis = 5'000;  // validity of Bybit's signature
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr char kDelimiter = '\x01';
constexpr std::size_t kMaxKeyBytes = std::size_t{64} * 1024;

const unsigned char* bytes_of(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}

/// Base64 for URLs (RFC 4648, section 5), padded.
std::string url_base64(std::string_view bytes) {
    auto text = core::base64(bytes);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
}

/// Decodes the key; empty if it is not valid base64.
std::string from_base64(std::string_view text) {
    if (text.empty() || text.size() % 4 != 0 || text.find('=') < text.size() - 2) return {};
    std::string bytes(text.size() / 4 * 3, '\0');
    const auto size =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), bytes_of(text), static_cast<int>(text.size()));
    if (size < 0) {
        OPENSSL_cleanse(bytes.data(), bytes.size());
        return {};
    }
    bytes.resize(static_cast<std::size_t>(size) - (text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0));
    return bytes;
}

std::string hmac(const EVP_MD* digest, std::string_view key, std::string_view data) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> result;
    unsigned size = 0;
    if (HMAC(digest, key.data(), static_cast<int>(key.size()), bytes_of(data), data.size(), result.data(), &size) ==
        nullptr) {
        return {};
    }
    return {reinterpret_cast<const char*>(result.data()), size};
}

std::string sha256(std::string_view data) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> result;
    unsigned size = 0;
    if (EVP_Digest(data.data(), data.size(), result.data(), &size, EVP_sha256(), nullptr) != 1) return {};
    return {reinterpret_cast<const char*>(result.data()), size};
}

std::string joined(std::initializer_list<std::string_view> parts, std::string_view between) {
    std::string text;
    for (const auto& part : parts) {
        if (&part != parts.begin()) text += between;
        text += part;
    }
    return text;
}

}  // namespace

/// A private key, or the bytes of a shared secret.
class LogonSigner::Key {
public:
    Key(LogonScheme scheme, std::string_view key) {
        if (key.empty()) throw std::invalid_argument("the signing key is empty");
        if (key.size() > kMaxKeyBytes) {
            throw std::invalid_argument("the signing key is longer than " + std::to_string(kMaxKeyBytes) + " bytes");
        }
        switch (scheme) {
            case LogonScheme::binance: read_private_key(key, EVP_PKEY_ED25519, "Ed25519"); break;
            case LogonScheme::bybit: read_private_key(key, EVP_PKEY_RSA, "RSA"); break;
            case LogonScheme::coinbase_exchange:
            case LogonScheme::kraken:
                secret_ = from_base64(key);
                if (secret_.empty()) throw std::invalid_argument("the signing key is not valid base64");
                break;
            case LogonScheme::coinbase_prime:
            case LogonScheme::kraken_prime: secret_ = key; break;
        }
    }
    ~Key() {
        OPENSSL_cleanse(secret_.data(), secret_.size());
        EVP_PKEY_free(private_key_);
    }
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;

    [[nodiscard]] std::string_view secret() const noexcept { return secret_; }
    /// Signs with Ed25519, or RSA with SHA-256 (PKCS #1 v1.5). Returns an empty string if OpenSSL fails.
    [[nodiscard]] std::string signature(std::string_view data) const {
        auto* const context = EVP_MD_CTX_new();
        const auto* const digest = EVP_PKEY_get_base_id(private_key_) == EVP_PKEY_RSA ? EVP_sha256() : nullptr;
        std::size_t size = 0;
        std::string result;
        const bool started = context != nullptr &&
                             EVP_DigestSignInit(context, nullptr, digest, nullptr, private_key_) == 1 &&
                             EVP_DigestSign(context, nullptr, &size, bytes_of(data), data.size()) == 1;
        if (started) {
            result.resize(size);
            auto* const out = reinterpret_cast<unsigned char*>(result.data());
            if (EVP_DigestSign(context, out, &size, bytes_of(data), data.size()) != 1) size = 0;
            result.resize(size);
        }
        EVP_MD_CTX_free(context);
        ERR_clear_error();
        return result;
    }

private:
    void read_private_key(std::string_view pem, int type, const char* name) {
        auto* const memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
        const auto no_password = [](char*, int, int, void*) { return 0; };
        private_key_ = PEM_read_bio_PrivateKey(memory, nullptr, no_password, nullptr);
        BIO_free(memory);
        ERR_clear_error();
        if (private_key_ != nullptr && EVP_PKEY_get_base_id(private_key_) == type) return;
        EVP_PKEY_free(std::exchange(private_key_, nullptr));
        throw std::invalid_argument(std::string{"the signing key is not a private "} + name +
                                    " key in PEM without a password");
    }

    EVP_PKEY* private_key_{nullptr};
    std::string secret_;
};

LogonSigner::LogonSigner(LogonScheme scheme, std::string_view key)
    : scheme_(scheme), key_(std::make_unique<Key>(scheme, key)) {}

LogonSigner::~LogonSigner() = default;

void LogonSigner::sign(fix::AdminDraft& logon, std::int64_t utc_ns) {
    const auto refuse = [&](const std::string& why) { static_cast<void>(logon.refuse(why)); };
    for (const auto tag : needed_fields(scheme_)) {
        if (logon.text(tag)) continue;
        refuse("the Logon cannot be signed: field " + std::to_string(tag) + " is missing");
        return;
    }
    const auto text = [&](fix::Tag tag) { return logon.text(tag).value_or(std::string_view{}); };
    const auto time = text(fix::tag::kSendingTime);
    const auto number = text(fix::tag::kMsgSeqNum);
    const auto sender = text(fix::tag::kSenderCompId);
    const auto target = text(fix::tag::kTargetCompId);
    constexpr std::string_view kSoh{&kDelimiter, 1};
    // The nonce only grows, even if the clock is set back.
    const auto millis = last_millis_ = std::max(utc_ns / kMillisecond, last_millis_ + 1);
    auto place = kRawData;
    std::string signature;
    bool added = true;
    switch (scheme_) {
        case LogonScheme::binance:
            signature = core::base64(key_->signature(joined({"A", sender, target, number, time}, kSoh)));
            break;
        case LogonScheme::bybit: {
            const auto expires = std::to_string(millis + kValidMillis);
            signature = core::base64(key_->signature("GET/realtime" + expires));
            added = logon.set(kExpires, expires);
            break;
        }
        case LogonScheme::coinbase_exchange:
            signature =
                core::base64(hmac(EVP_sha256(), key_->secret(),
                                  joined({time, "A", number, sender, target, text(fix::tag::kPassword)}, kSoh)));
            break;
        case LogonScheme::coinbase_prime:
            signature = core::base64(
                hmac(EVP_sha256(), key_->secret(),
                     joined({time, "A", number, text(kAccessKey), target, text(fix::tag::kPassword)}, {})));
            break;
        case LogonScheme::kraken: {
            const auto nonce = std::to_string(millis);
            const auto input =
                "35=A\x01"
                "34=" +
                std::string{number} +
                "\x01"
                "49=" +
                std::string{sender} +
                "\x01"
                "56=" +
                std::string{target} +
                "\x01"
                "553=" +
                std::string{text(fix::tag::kUsername)} + "\x01" + nonce;
            signature = core::base64(hmac(EVP_sha512(), key_->secret(), sha256(input)));
            place = fix::tag::kPassword;
            added = logon.set(kNonce, nonce);
            break;
        }
        case LogonScheme::kraken_prime:
            signature = url_base64(hmac(EVP_sha256(), key_->secret(), joined({time, number, sender, target}, kSoh)));
            break;
    }
    if (signature.empty() || !added || !logon.set(place, signature)) refuse("the Logon could not be signed");
}

}  // namespace millpond::engine
