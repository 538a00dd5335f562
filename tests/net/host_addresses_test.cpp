#include <millpond/net/host_addresses.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/net/interface_of.hpp>

namespace millpond::net {
namespace {

TEST(HostAddresses, AnAddressAsTextIsItself) {
    const auto found = host_addresses("127.0.0.1", 9'000);
    EXPECT_THAT(found.addresses, ::testing::ElementsAre(SocketAddress::parse("127.0.0.1:9000")));
    EXPECT_EQ(found.error, "");
}

TEST(HostAddresses, ANameThatNoResolverCanKnowHasAnError) {
    const auto found = host_addresses("no-such-host.invalid", 9'000);  // RFC 6761
    EXPECT_TRUE(found.addresses.empty());
    EXPECT_NE(found.error, "");
}

TEST(InterfaceOf, TheLoopbackAddressIsOnTheLoopbackInterface) {
    EXPECT_EQ(interface_of(SocketAddress::parse("127.0.0.1:1")), "lo");
    EXPECT_EQ(interface_of(SocketAddress::parse("192.0.2.1:1")),
              "");  // RFC 5737: an example address, which no machine has
}

}  // namespace
}  // namespace millpond::net
