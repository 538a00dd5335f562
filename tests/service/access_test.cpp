#include "service/http/access.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "service/http/allowance.hpp"
#include "service/http/page.hpp"

namespace millpond::http {
namespace {

/// abcdefghijklmnop
service::Token token() {
    setenv("MILLPOND_TEST_TOKEN", "abcdefghijklmnop", 1);
    return service::Token{{.file = {}, .environment = "MILLPOND_TEST_TOKEN"}};
}

unsigned status(const Access& access, const Credentials& credentials, bool is_open = false) {
    const auto refusal = access.refusal(credentials, is_open);
    return refusal ? refusal->status : 200U;
}

TEST(Access, WithoutATokenOnlyNamesOfThisMachineAreAnsweredOnLoopback) {
    const Access access{service::Token{}, true};
    EXPECT_EQ(status(access, {}), 200U);
    EXPECT_EQ(status(access, {.host = "localhost:9465"}), 200U);
    EXPECT_EQ(status(access, {.host = "127.0.0.1:9465"}), 200U);
    EXPECT_EQ(status(access, {.host = "[::1]:9465"}), 200U);
    EXPECT_EQ(status(access, {.host = "rebound.example:9465"}), 403U);
    EXPECT_EQ(status(Access{service::Token{}, false}, {.host = "gateway.example:9465"}), 200U);
}

TEST(Access, APageOfAnotherSiteIsRefusedWhateverItKnows) {
    const Access access{token(), false};
    EXPECT_EQ(status(access, {.host = "a:1", .origin = "http://b:1", .authorization = "Bearer abcdefghijklmnop"}),
              403U);
    EXPECT_EQ(status(access, {.host = "a:1", .origin = "http://a:2", .authorization = "Bearer abcdefghijklmnop"}),
              403U);
    EXPECT_EQ(status(access, {.host = "a:1", .origin = "null", .authorization = "Bearer abcdefghijklmnop"}), 403U);
    EXPECT_EQ(status(access, {.host = "a:1", .origin = "http://a:1", .authorization = "Bearer abcdefghijklmnop"}),
              200U);
    EXPECT_EQ(status(access, {.host = "a:1", .origin = "https://a:1", .authorization = "Bearer abcdefghijklmnop"}),
              200U);
}

TEST(Access, TheWholeTokenIsCompared) {
    const Access access{token(), true};
    EXPECT_EQ(status(access, {}), 401U);
    EXPECT_EQ(status(access, {}, true), 200U);
    EXPECT_EQ(status(access, {.authorization = "Bearer abcdefghijklmno"}), 401U);
    EXPECT_EQ(status(access, {.authorization = "Bearer abcdefghijklmnopq"}), 401U);
    EXPECT_EQ(status(access, {.authorization = "Basic abcdefghijklmnop"}), 401U);
    EXPECT_EQ(status(access, {.authorization = "Bearer abcdefghijklmnop"}), 200U);
    EXPECT_EQ(status(access, {.protocols = "millpond, millpond.abcdefghijklmnop"}), 200U);
    EXPECT_EQ(status(access, {.protocols = "millpond,millpondabcdefghijklmnop,abcdefghijklmnop,millpond."}), 401U);
}

TEST(Access, AnyTokenFitsIntoAProtocolsNameInBase64Url) {
    setenv("MILLPOND_TEST_TOKEN", "c2VjcmV0/dG9r+ZW4(MTIzNA==~?>", 1);
    const Access access{service::Token{{.file = {}, .environment = "MILLPOND_TEST_TOKEN"}}, true};
    // printf '%s' 'c2VjcmV0/dG9r+ZW4(MTIzNA==~?>' | basenc --base64url | tr -d '='
    EXPECT_EQ(status(access, {.protocols = "millpond, millpond.base64url.YzJWamNtVjAvZEc5citaVzQoTVRJek5BPT1-Pz4"}),
              200U);
    for (const auto* const wrong : {"YzJWamNtVjAvZEc5citaVzQoTVRJek5BPT1-Pz", "YzJWamNtVjAvZEc5citaVzQoTVRJek5BPT1-Pz5",
                                    "YzJWamNtVjAvZEc5citaVzQoTVRJek5BPT1+Pz4", "", "!"}) {
        const auto protocols = std::string{"millpond, millpond.base64url."} + wrong;
        EXPECT_EQ(status(access, {.protocols = protocols}), 401U) << wrong;
    }
}

TEST(Allowance, LetsABurstThroughAndThenSoManyASecond) {
    Allowance allowance{2, 3};
    constexpr std::int64_t kSecond = 1'000'000'000;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(allowance.admit(kSecond));
    EXPECT_FALSE(allowance.admit(kSecond));
    EXPECT_FALSE(allowance.admit(kSecond + kSecond / 4));
    EXPECT_TRUE(allowance.admit(kSecond + kSecond / 2));
    EXPECT_FALSE(allowance.admit(kSecond + kSecond / 2));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(allowance.admit(100 * kSecond));
    EXPECT_FALSE(allowance.admit(100 * kSecond));
}

TEST(Request, AParameterIsDecoded) {
    const Request request{.path = "/", .query = "a=1&symbol=BRK%2FB%20x&bad=%4&end=%&many=12&none="};
    EXPECT_EQ(request.parameter("a"), "1");
    EXPECT_EQ(request.parameter("symbol"), "BRK/B x");
    EXPECT_THROW(static_cast<void>(request.parameter("bad")), BadRequest);
    EXPECT_THROW(static_cast<void>(request.parameter("end")), BadRequest);
    EXPECT_EQ(request.parameter("other"), std::nullopt);
    EXPECT_EQ(request.number("many", 3), 12U);
    EXPECT_EQ(request.number("none", 3), 3U);
    EXPECT_EQ(request.number("other", 3), 3U);
    EXPECT_EQ(request.parameter("none"), "");
    EXPECT_EQ(request.number("many", 3, 12, 12), 12U);
    EXPECT_THROW(static_cast<void>(request.number("many", 3, 13)), BadRequest);
    EXPECT_THROW(static_cast<void>(request.number("many", 3, 0, 11)), BadRequest);
    EXPECT_THROW(static_cast<void>(request.number("symbol", 3)), BadRequest);
}

}  // namespace
}  // namespace millpond::http
