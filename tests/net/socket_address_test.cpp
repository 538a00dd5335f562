#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <stdexcept>
#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::net {
namespace {

std::string refusal(std::string_view text) {
    try {
        return "accepted as " + SocketAddress::parse(text).to_string();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

TEST(SocketAddress, ParsesWhatItPrints) {
    for (const std::string text : {"0.0.0.0:0", "127.0.0.1:14000", "239.255.1.2:65535", "[::]:1", "[::1]:9000",
                                   "[ff15::abcd]:14000", "[2001:db8::1]:443", "[fe80::1%lo]:7"}) {
        EXPECT_EQ(SocketAddress::parse(text).to_string(), text);
    }
    EXPECT_EQ(SocketAddress::parse_host("10.1.2.3").host(), "10.1.2.3");
    EXPECT_EQ(SocketAddress::parse_host("ff02::1%lo").host(), "ff02::1%lo");
    EXPECT_EQ(SocketAddress::parse("[fe80::1%lo]:7").scope(), if_nametoindex("lo"));
}

TEST(SocketAddress, RefusesBadTextAndNamesThePartThatIsWrong) {
    EXPECT_EQ(refusal(""), "address '': is empty; expected ADDRESS:PORT");
    EXPECT_EQ(refusal("127.0.0.1"), "address '127.0.0.1': ':PORT' is missing");
    EXPECT_EQ(refusal("127.0.0.1:"), "address '127.0.0.1:': port '' is not a number");
    EXPECT_EQ(refusal("127.0.0.1:12x"), "address '127.0.0.1:12x': port '12x' is not a number");
    EXPECT_EQ(refusal("127.0.0.1:-1"), "address '127.0.0.1:-1': port '-1' is not a number");
    EXPECT_EQ(refusal("127.0.0.1:65536"),
              "address '127.0.0.1:65536': port 65536 is out of range; it must be 0 to 65535");
    EXPECT_EQ(refusal("127.0.0.1:99999999999999999999"),
              "address '127.0.0.1:99999999999999999999': port 99999999999999999999 is out of range; it must be 0 to "
              "65535");
    EXPECT_EQ(refusal("256.0.0.1:1"),
              "address '256.0.0.1:1': '256.0.0.1' is not an IPv4 address (four numbers 0 to 255; names are not looked "
              "up)");
    EXPECT_EQ(refusal("localhost:1"),
              "address 'localhost:1': 'localhost' is not an IPv4 address (four numbers 0 to 255; names are not looked "
              "up)");
    EXPECT_EQ(refusal("::1:9000"), "address '::1:9000': an IPv6 address with a port is written [ADDRESS]:PORT");
    EXPECT_EQ(refusal("[::1]"), "address '[::1]': ':PORT' is missing after ']'");
    EXPECT_EQ(refusal("[::1:9"), "address '[::1:9': ']' is missing after the IPv6 address");
    EXPECT_EQ(refusal("[::g]:9"), "address '[::g]:9': '::g' is not an IPv6 address");
    EXPECT_EQ(refusal("[fe80::1%]:9"), "address '[fe80::1%]:9': the zone after '%' is empty");
    EXPECT_EQ(refusal("[fe80::1%nosuch]:9"),
              "address '[fe80::1%nosuch]:9': zone 'nosuch' is not an interface of this machine");
}

TEST(SocketAddress, KnowsGroupsWildcardsAndLinkLocals) {
    EXPECT_TRUE(SocketAddress::parse("224.0.0.1:1").is_multicast());
    EXPECT_TRUE(SocketAddress::parse("239.255.255.255:1").is_multicast());
    EXPECT_TRUE(SocketAddress::parse("[ff15::1]:1").is_multicast());
    EXPECT_FALSE(SocketAddress::parse("223.255.255.255:1").is_multicast());
    EXPECT_FALSE(SocketAddress::parse("240.0.0.1:1").is_multicast());
    EXPECT_FALSE(SocketAddress::parse("[fe80::1]:1").is_multicast());
    EXPECT_FALSE(SocketAddress{}.is_multicast());

    EXPECT_TRUE(SocketAddress::parse("0.0.0.0:1").is_wildcard());
    EXPECT_TRUE(SocketAddress::parse("[::]:1").is_wildcard());
    EXPECT_FALSE(SocketAddress::parse("[::1]:1").is_wildcard());
    EXPECT_TRUE(SocketAddress::parse("[::1]:1").is_loopback());
    EXPECT_TRUE(SocketAddress::parse("127.9.0.1:1").is_loopback());
    EXPECT_FALSE(SocketAddress::parse("[2001:db8::1]:1").is_loopback());
    EXPECT_FALSE(SocketAddress::parse("128.0.0.1:1").is_loopback());
    EXPECT_FALSE(SocketAddress{}.is_wildcard());

    EXPECT_TRUE(SocketAddress::parse("[fe80::1]:1").is_link_local_ipv6());
    EXPECT_TRUE(SocketAddress::parse("[ff12::1]:1").is_link_local_ipv6());
    EXPECT_FALSE(SocketAddress::parse("[ff15::1]:1").is_link_local_ipv6());
    EXPECT_FALSE(SocketAddress::parse("169.254.0.1:1").is_link_local_ipv6());
}

TEST(SocketAddress, SurvivesTheKernelsForm) {
    for (const std::string text : {"192.0.2.7:4242", "[2001:db8::7]:4242", "[fe80::7%lo]:4242"}) {
        const auto address = SocketAddress::parse(text);
        sockaddr_storage kernel;
        EXPECT_GT(address.to_kernel(kernel), 0U);
        EXPECT_EQ(SocketAddress::from_kernel(kernel), address);
    }
    sockaddr_storage kernel;
    EXPECT_EQ(SocketAddress{}.to_kernel(kernel), 0U);
    EXPECT_EQ(SocketAddress::from_kernel(kernel), SocketAddress{});
    EXPECT_EQ(SocketAddress{}.to_string(), "none");
}

}  // namespace
}  // namespace millpond::net
