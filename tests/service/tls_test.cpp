#include "service/tls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "service/settings/value.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const TlsOptions& options) {
    try {
        const TlsContext context{options};
    } catch (const settings::ConfigError& error) {
        return error.what();
    }
    return "none";
}

/// Shakes hands in memory; the version agreed on, or "refused".
std::string shake_hands(const TlsContext& context, int highest, const test::Certificate* own = nullptr) {
    SSL_CTX* client_context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(client_context, highest);
    if (own != nullptr) {
        SSL_CTX_use_certificate_file(client_context, own->certificate.c_str(), SSL_FILETYPE_PEM);
        SSL_CTX_use_PrivateKey_file(client_context, own->key.c_str(), SSL_FILETYPE_PEM);
    }
    SSL* server = SSL_new(context.get());
    SSL* client = SSL_new(client_context);
    BIO* near = nullptr;
    BIO* far = nullptr;
    BIO_new_bio_pair(&near, 0, &far, 0);
    SSL_set_bio(server, near, near);
    SSL_set_bio(client, far, far);
    SSL_set_accept_state(server);
    SSL_set_connect_state(client);
    bool good = false;
    for (int step = 0; step < 10 && !good; ++step) {
        SSL_do_handshake(client);
        good = SSL_do_handshake(server) == 1 && SSL_is_init_finished(client) == 1;
    }
    const std::string version = good ? SSL_get_version(server) : "refused";
    SSL_free(client);
    SSL_free(server);
    SSL_CTX_free(client_context);
    return version;
}

TEST(TlsContext, WithoutACertificateThereIsNone) {
    EXPECT_FALSE(TlsContext{}.on());
    EXPECT_FALSE(TlsContext{TlsOptions{}}.on());
}

TEST(TlsContext, SpeaksNewVersionsOnly) {
    const test::Folder folder{"tls"};
    const test::Certificate server{folder};
    const TlsContext context{{.certificate = server.certificate, .key = server.key, .client_ca = {}}};
    ASSERT_TRUE(context.on());
    EXPECT_EQ(shake_hands(context, TLS1_3_VERSION), "TLSv1.3");
    EXPECT_EQ(shake_hands(context, TLS1_2_VERSION), "TLSv1.2");
    EXPECT_EQ(shake_hands(context, TLS1_1_VERSION), "refused");
}

TEST(TlsContext, AsksForAClientsCertificateWhereOneIsWanted) {
    const test::Folder folder{"tls-client"};
    const test::Certificate server{folder};
    const test::Certificate known{folder, "known"};
    const test::Certificate stranger{folder, "stranger"};
    const TlsContext context{{.certificate = server.certificate, .key = server.key, .client_ca = known.certificate}};
    EXPECT_EQ(shake_hands(context, TLS1_2_VERSION, &known), "TLSv1.2");
    EXPECT_EQ(shake_hands(context, TLS1_2_VERSION, &stranger), "refused");
    EXPECT_EQ(shake_hands(context, TLS1_2_VERSION), "refused");
}

TEST(TlsContext, WhatCannotBeLoadedIsNamed) {
    const test::Folder folder{"tls-bad"};
    const test::Certificate server{folder};
    const test::Certificate other{folder, "other"};
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = {}, .client_ca = {}}),
                HasSubstr("tls_key is required"));
    EXPECT_THAT(refusal({.certificate = {}, .key = server.key, .client_ca = {}}),
                HasSubstr("tls_certificate is required"));
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = folder / "absent", .client_ca = {}}),
                AllOf(HasSubstr("absent"), HasSubstr("No such file")));
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = other.key, .client_ca = {}}),
                AllOf(HasSubstr("other.key"), HasSubstr("mismatch")));
    std::ofstream{folder / "garbage"} << "garbage";
    EXPECT_THAT(refusal({.certificate = folder / "garbage", .key = server.key, .client_ca = {}}),
                HasSubstr("certificate '" + (folder / "garbage")));
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = server.key, .client_ca = folder / "garbage"}),
                HasSubstr("client_ca '" + (folder / "garbage")));
    std::filesystem::permissions(server.key, std::filesystem::perms{0644});
    EXPECT_THAT(refusal({.certificate = server.certificate, .key = server.key, .client_ca = {}}),
                AllOf(HasSubstr("any user may read"), HasSubstr("chmod")));
}

}  // namespace
}  // namespace millpond::service
