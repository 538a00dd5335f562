#include "service/tls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "service/config_error.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const tls::Options& options) {
    try {
        static_cast<void>(server_tls(options));
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "none";
}

TEST(ServerTls, WithoutFilesThereIsNone) { EXPECT_FALSE(server_tls({}).on()); }

TEST(ServerTls, AClientCertificateIsRequiredWithClientCa) {
    const test::Folder folder{"tls-client"};
    const test::Certificate server{folder};
    EXPECT_FALSE(server_tls({.certificate = server.certificate, .key = server.key}).verify_peer());
    EXPECT_TRUE(server_tls({.certificate = server.certificate, .key = server.key, .authorities = server.certificate})
                    .verify_peer());
}

TEST(ServerTls, FilesThatCannotBeLoadedAreNamed) {
    const test::Folder folder{"tls-bad"};
    const test::Certificate server{folder};
    const test::Certificate other{folder, "other"};
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = {}}), HasSubstr("'tls_key' is required"));
    EXPECT_THAT(refusal({.certificate = {}, .key = server.key}), HasSubstr("'tls_certificate' is required"));
    EXPECT_THAT(refusal({.authorities = server.certificate}), HasSubstr("'tls_certificate' is required"));
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = folder / "absent"}),
                AllOf(HasSubstr("absent"), HasSubstr("No such file")));
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = other.key}),
                AllOf(HasSubstr("other.key"), HasSubstr("mismatch")));
    std::ofstream{folder / "garbage"} << "garbage";
    EXPECT_THAT(refusal({.certificate = folder / "garbage", .key = server.key}),
                HasSubstr("certificate '" + (folder / "garbage")));
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = server.key, .authorities = folder / "garbage"}),
                HasSubstr("authorities '" + (folder / "garbage")));
    std::filesystem::permissions(server.key, std::filesystem::perms{0644});
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = server.key}),
                AllOf(HasSubstr("any user may read"), HasSubstr("chmod")));
}

}  // namespace
}  // namespace millpond::service
