#include <millpond/tls/context.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <sys/stat.h>

#include "tests/service/certificate.hpp"

namespace millpond::tls {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A context of OpenSSL with its defaults, for a peer that is not ours.
class Peer {
public:
    explicit Peer(Role role, const test::Certificate* own = nullptr)
        : context_(SSL_CTX_new(role == Role::server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free) {
        if (own == nullptr) return;
        SSL_CTX_use_certificate_file(get(), own->certificate.c_str(), SSL_FILETYPE_PEM);
        SSL_CTX_use_PrivateKey_file(get(), own->key.c_str(), SSL_FILETYPE_PEM);
    }
    [[nodiscard]] SSL_CTX* get() const noexcept { return context_.get(); }
    Peer& up_to(int version) {
        SSL_CTX_set_max_proto_version(get(), version);
        return *this;
    }
    Peer& only(const char* cipher) {
        SSL_CTX_set_cipher_list(get(), cipher);
        return up_to(TLS1_2_VERSION);
    }

private:
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

/// Makes a handshake in memory. Returns the negotiated version, or "refused".
std::string shake_hands(SSL_CTX* server_context, SSL_CTX* client_context) {
    SSL* server = SSL_new(server_context);
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
    return version;
}

std::string refusal(Role role, const Options& options) {
    try {
        const Context context{role, options};
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "none";
}

/// CBC without authenticated encryption: OpenSSL's defaults accept it.
constexpr const char* kWeakCipher = "ECDHE-ECDSA-AES128-SHA256";

class TlsContext : public ::testing::Test {
protected:
    [[nodiscard]] Context server(const test::Certificate* client = nullptr) const {
        return {Role::server,
                {.certificate = own_.certificate,
                 .key = own_.key,
                 .authorities = client == nullptr ? std::string{} : client->certificate,
                 .verify_peer = client != nullptr}};
    }
    [[nodiscard]] Context client() const { return {Role::client, {.authorities = own_.certificate}}; }

    test::Folder folder_{"tls-context"};
    test::Certificate own_{folder_};
};

TEST_F(TlsContext, WithoutOptionsThereIsNone) { EXPECT_FALSE(Context{}.on()); }

TEST_F(TlsContext, AServerSpeaksNewVersionsOnly) {
    const auto context = server();
    ASSERT_TRUE(context.on());
    EXPECT_EQ(shake_hands(context.get(), Peer{Role::client}.up_to(TLS1_3_VERSION).get()), "TLSv1.3");
    EXPECT_EQ(shake_hands(context.get(), Peer{Role::client}.up_to(TLS1_2_VERSION).get()), "TLSv1.2");
    EXPECT_EQ(shake_hands(context.get(), Peer{Role::client}.up_to(TLS1_1_VERSION).get()), "refused");
}

TEST_F(TlsContext, AClientSpeaksNewVersionsOnly) {
    const auto context = client();
    EXPECT_EQ(shake_hands(Peer{Role::server, &own_}.up_to(TLS1_3_VERSION).get(), context.get()), "TLSv1.3");
    EXPECT_EQ(shake_hands(Peer{Role::server, &own_}.up_to(TLS1_2_VERSION).get(), context.get()), "TLSv1.2");
    EXPECT_EQ(shake_hands(Peer{Role::server, &own_}.up_to(TLS1_1_VERSION).get(), context.get()), "refused");
}

TEST_F(TlsContext, WeakCiphersAreRefusedByServersAndClients) {
    ASSERT_EQ(shake_hands(Peer{Role::server, &own_}.get(), Peer{Role::client}.only(kWeakCipher).get()), "TLSv1.2");
    EXPECT_EQ(shake_hands(server().get(), Peer{Role::client}.only(kWeakCipher).get()), "refused");
    EXPECT_EQ(shake_hands(Peer{Role::server, &own_}.only(kWeakCipher).get(), client().get()), "refused");
}

TEST_F(TlsContext, NeitherServersNorClientsRenegotiateOrCompress) {
    for (const auto& context : {server(), client()}) {
        constexpr auto kOff = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION;
        EXPECT_EQ(SSL_CTX_get_options(context.get()) & kOff, kOff);
    }
}

TEST_F(TlsContext, AServerRequiresAClientCertificateOfItsAuthorities) {
    const test::Certificate known{folder_, "known"};
    const test::Certificate other{folder_, "other"};
    const auto context = server(&known);
    EXPECT_EQ(shake_hands(context.get(), Peer{Role::client, &known}.up_to(TLS1_2_VERSION).get()), "TLSv1.2");
    EXPECT_EQ(shake_hands(context.get(), Peer{Role::client, &other}.up_to(TLS1_2_VERSION).get()), "refused");
    EXPECT_EQ(shake_hands(context.get(), Peer{Role::client}.up_to(TLS1_2_VERSION).get()), "refused");
}

TEST_F(TlsContext, AKeyThatAnyUserMayReadOrWriteIsRefusedWithTheCommandThatHelps) {
    for (const mode_t mode : {0644U, 0602U}) {
        ASSERT_EQ(chmod(own_.key.c_str(), mode), 0);
        for (const auto role : {Role::server, Role::client}) {
            EXPECT_THAT(refusal(role, {.certificate = own_.certificate, .key = own_.key}),
                        AllOf(HasSubstr("any user may read or write it"), HasSubstr("chmod o-rw '" + own_.key)));
        }
    }
    ASSERT_EQ(chmod(own_.key.c_str(), 0640), 0);
    EXPECT_EQ(refusal(Role::client, {.certificate = own_.certificate, .key = own_.key}), "none");
}

TEST_F(TlsContext, AFileThatCannotBeUsedIsNamed) {
    const test::Certificate other{folder_, "other"};
    const auto absent = folder_ / "absent";
    const auto pipe = folder_ / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    for (const auto role : {Role::server, Role::client}) {
        EXPECT_THAT(refusal(role, {.certificate = own_.certificate, .key = absent}),
                    AllOf(HasSubstr("key '" + absent), HasSubstr("No such file")));
        EXPECT_THAT(refusal(role, {.certificate = pipe, .key = own_.key}),
                    AllOf(HasSubstr("certificate '" + pipe), HasSubstr("is not a regular file")));
        EXPECT_THAT(refusal(role, {.certificate = own_.certificate, .key = other.key}),
                    AllOf(HasSubstr("other.key"), HasSubstr("mismatch")));
        EXPECT_THAT(refusal(role, {.certificate = own_.certificate, .key = own_.key, .authorities = own_.key}),
                    HasSubstr("authorities '" + own_.key));
    }
    EXPECT_THAT(refusal(Role::server, {}), HasSubstr("a server needs a certificate"));
}

}  // namespace
}  // namespace millpond::tls
