#include "fixd/settings/certificate_name.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace millpond::fixd {
namespace {

TEST(CertificateName, IsWrittenAsACertificateHasItOrRefused) {
    EXPECT_EQ(certificate_name("CN=desk,O=Broker\\, Inc"), "CN=desk,O=Broker\\, Inc");
    EXPECT_EQ(certificate_name("2.5.4.3=desk"), "2.5.4.3=desk");
    EXPECT_EQ(certificate_name("DNS:Desk.Example"), "DNS:desk.example");
    EXPECT_EQ(certificate_name("IP:2001:0DB8::0001"), "IP:2001:db8::1");
    EXPECT_EQ(certificate_name("URI:urn:x=Y"), "URI:urn:x=Y");
    EXPECT_EQ(certificate_name("email:a@B.example"), "email:a@B.example");
    for (const auto* text : {"", "desk", "DNS:", "IP:", "IP:desk", "URI:", "email:", "dns:desk", "uri:urn:x=y", "=desk",
                             "/CN=desk", "subject=CN=desk", "CN = desk", "CN=desk, O=Broker"}) {
        EXPECT_THROW(static_cast<void>(certificate_name(text)), std::invalid_argument) << text;
    }
}

}  // namespace
}  // namespace millpond::fixd
