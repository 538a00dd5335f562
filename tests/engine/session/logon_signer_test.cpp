// Signatures of Logons, compared with the venues' worked examples if there are any, else with the results of their
// published sample code (Python's hmac, hashlib and base64).

#include <gtest/gtest.h>

#include <millpond/engine/logon_signer.hpp>

#include <array>
#include <stdexcept>
#include <string>

#include <millpond/tls/context.hpp>

namespace millpond::engine {
namespace {

constexpr std::int64_t kSendingTime = 1'719'487'045'223'000'000;  // 20240627-11:17:25.223
// "secret bytes"
constexpr const char* kBase64Secret = "c2VjcmV0IGJ5dGVz";
// Published as an example in Binance's documentation.
constexpr const char* kBinanceKey =
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u\n"
    "-----END PRIVATE KEY-----\n";

class LogonSignerTest : public testing::Test {
protected:
    void SetUp() override {
        if (!tls::available()) GTEST_SKIP() << "this build has no OpenSSL: libssl-dev was missing";
    }
    /// The signed Logon.
    fix::AdminDraft& sign(LogonSigner& signer, const std::string& sender, const std::string& target,
                          std::initializer_list<std::pair<fix::Tag, std::string_view>> fields,
                          std::int64_t time = kSendingTime) {
        text_ =
            "8=FIX.4.4|9=0|35=A|34=1|49=" + sender + "|52=20240627-11:17:25.223|56=" + target + "|98=0|108=30|10=000|";
        for (auto& c : text_) c = c == '|' ? '\x01' : c;
        draft_.emplace(text_, memory_);
        for (const auto& [tag, value] : fields) EXPECT_TRUE(draft_->set(tag, value));
        signer.sign(*draft_, time);
        return *draft_;
    }

    std::string text_;
    std::array<char, 4096> memory_{};
    std::optional<fix::AdminDraft> draft_;
};

// https://github.com/binance/binance-spot-api-docs/blob/master/fix-api.md, "How to sign Logon<A> request".
TEST_F(LogonSignerTest, BinanceAsInItsDocumentation) {
    LogonSigner signer{LogonScheme::binance, kBinanceKey};
    EXPECT_EQ(sign(signer, "EXAMPLE", "SPOT", {{553, "key"}}).text(96),
              "4MHXelVVcpkdwuLbl6n73HQUXUf1dse2PCgT1DYqW9w8AVZ1RACFGM+5UdlGPrQHrgtS3CvsRURC1oj73j8gCA==");
}

TEST_F(LogonSignerTest, CoinbaseExchangeAsItsSampleCode) {
    LogonSigner signer{LogonScheme::coinbase_exchange, kBase64Secret};
    const auto& logon = sign(signer, "KEY", "Coinbase", {{554, "pass"}});
    EXPECT_EQ(logon.text(96), "ST7aIY5rC20xRbjtPhVaqxThOMYfQtsXjoGaHaR/x1o=");
    EXPECT_EQ(logon.text(554), "pass");
}

TEST_F(LogonSignerTest, CoinbasePrimeAsItsSampleCode) {
    LogonSigner signer{LogonScheme::coinbase_prime, "secret text"};
    EXPECT_EQ(sign(signer, "ACCOUNT", "COIN", {{554, "pass"}, {9407, "APIKEY"}}).text(96),
              "urH9BmIRztTiJRG+xybV5FBJqkyE+G9V7tHD+edGQj8=");
}

TEST_F(LogonSignerTest, KrakenAsItsSampleCode) {
    LogonSigner signer{LogonScheme::kraken, kBase64Secret};
    const auto& logon = sign(signer, "ME", "KRAKEN-TRD", {{553, "APIKEY"}});
    EXPECT_EQ(logon.text(5025), "1719487045223");
    EXPECT_EQ(logon.text(554),
              "SqxGESY+ZMjHvIax3Rva5ab22TBeZwFTPc6F7fXBRsA3SJUscGwqtsuJH05A7aMaJmcDxY0hMMhzmqEhtJiBTQ==");
}

TEST_F(LogonSignerTest, TheNonceIncreasesWhateverTheClockDoes) {
    LogonSigner signer{LogonScheme::kraken, kBase64Secret};
    EXPECT_EQ(sign(signer, "ME", "KRAKEN-TRD", {{553, "APIKEY"}}).text(5025), "1719487045223");
    EXPECT_EQ(sign(signer, "ME", "KRAKEN-TRD", {{553, "APIKEY"}}).text(5025), "1719487045224");
    EXPECT_EQ(sign(signer, "ME", "KRAKEN-TRD", {{553, "APIKEY"}}, kSendingTime - 1'000'000'000'000).text(5025),
              "1719487045225");
}

// The documentation's example of a signature has the URL-safe alphabet.
TEST_F(LogonSignerTest, KrakenPrimeWithTheUrlSafeAlphabet) {
    LogonSigner signer{LogonScheme::kraken_prime, "secret text 3"};
    EXPECT_EQ(sign(signer, "CUSTOMER", "KRAKEN", {{554, "APIKEY"}}).text(96),
              "ZnTSca3Poi72957eXfD1HZlLQP-awIQoxnjtGf__8tU=");
}

TEST_F(LogonSignerTest, ALogonWithoutAFieldThatIsSignedIsRefused) {
    LogonSigner signer{LogonScheme::coinbase_prime, "secret text"};
    EXPECT_EQ(sign(signer, "ACCOUNT", "COIN", {{554, "pass"}}).text(96), std::nullopt);
}

TEST_F(LogonSignerTest, AKeyOfAnotherKindIsRefusedAndNotShown) {
    const auto error_of = [](LogonScheme scheme, std::string_view key) -> std::string {
        try {
            LogonSigner{scheme, key};
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    const std::string no_key = "the signing key is not a private ";
    EXPECT_EQ(error_of(LogonScheme::binance, "hidden"), no_key + "Ed25519 key in PEM without a password");
    EXPECT_EQ(error_of(LogonScheme::bybit, kBinanceKey), no_key + "RSA key in PEM without a password");
    EXPECT_EQ(error_of(LogonScheme::kraken, "hidden!"), "the signing key is not valid base64");
    EXPECT_EQ(error_of(LogonScheme::coinbase_exchange, "hid=den="), "the signing key is not valid base64");
    EXPECT_EQ(error_of(LogonScheme::kraken_prime, ""), "the signing key is empty");
}

}  // namespace
}  // namespace millpond::engine
