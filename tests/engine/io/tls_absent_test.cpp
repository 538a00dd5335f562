// The build without OpenSSL: this program links the replacement of TLS before the library's own implementation.

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/initiator.hpp>

#include "tests/engine/engine_pair.hpp"

namespace millpond::engine {
namespace {

TEST(TlsAbsent, TheEngineReportsThatTlsIsMissing) { EXPECT_FALSE(tls::available()); }

TEST(TlsAbsent, ARequestForTlsNamesTheMissingPackage) {
    IoThread io;
    const auto expect_named = [](const std::runtime_error& error) {
        EXPECT_NE(std::string{error.what()}.find("libssl-dev"), std::string::npos) << error.what();
    };
    try {
        Acceptor{io, {.tls = tls::Options{.certificate = "house.pem", .key = "house.key"}}};
        FAIL() << "an acceptor with TLS";
    } catch (const std::runtime_error& error) {
        expect_named(error);
    }
    const auto dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty desk;
    Initiator initiator{io};
    try {
        initiator.add({.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE"}, .dictionary = &dictionary},
                      {.hosts = {{"127.0.0.1", 1}}, .tls = tls::Options{}}, desk);
        FAIL() << "an initiator with TLS";
    } catch (const std::runtime_error& error) {
        expect_named(error);
    }
}

TEST(TlsAbsent, PlainSessionsWork) {
    EnginePair pair;
    EXPECT_TRUE(pair.log_on());
}

}  // namespace
}  // namespace millpond::engine
