// The bytes between an initiator and its proxy, compared with the RFCs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "src/engine/connect/proxy_handshake.hpp"

namespace millpond::engine {
namespace {

using State = ProxyHandshake::State;
using namespace std::string_literals;

constexpr auto kSocks = Proxy::Kind::socks5;
constexpr auto kHttp = Proxy::Kind::http_connect;

/// Returns the whole output as if the socket had sent it.
std::string said(ProxyHandshake& handshake) {
    std::string text{handshake.output()};
    handshake.sent(text.size());
    return text;
}

/// Passes the bytes that the handshake requests; the others stay.
std::string left_of(ProxyHandshake& handshake, std::string bytes) {
    while (handshake.state() == State::running && !bytes.empty() && handshake.output().empty()) {
        const auto count = std::min(handshake.wanted(), bytes.size());
        handshake.receive(bytes.substr(0, count));
        bytes.erase(0, count);
    }
    return bytes;
}

ProxyHandshake to(Proxy::Kind kind, const std::string& host, const std::string& username = "",
                  const std::string& password = "") {
    return ProxyHandshake{{.kind = kind, .host = {"proxy", 1080}, .username = username, .password = password},
                          {host, 0x1234}};
}

TEST(ProxyHandshake, SocksWithANameLeavesTheCounterpartysBytes) {
    auto handshake = to(kSocks, "a.example");
    EXPECT_EQ(said(handshake), "\x05\x01\x00"s);
    EXPECT_EQ(left_of(handshake, "\x05\x00"s), "");
    EXPECT_EQ(said(handshake),
              "\x05\x01\x00\x03\x09"
              "a.example\x12\x34"s);
    EXPECT_EQ(left_of(handshake, "\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"s + "8=FIX"), "8=FIX");
    EXPECT_EQ(handshake.state(), State::done);
}

TEST(ProxyHandshake, SocksWithAddressesAndALogin) {
    auto ipv4 = to(kSocks, "10.0.0.1", "me", "pass");
    EXPECT_EQ(said(ipv4), "\x05\x02\x00\x02"s);
    EXPECT_EQ(left_of(ipv4, "\x05\x02"s), "");
    EXPECT_EQ(said(ipv4), "\x01\x02me\x04pass"s);
    EXPECT_EQ(left_of(ipv4, "\x01\x00"s), "");
    EXPECT_EQ(said(ipv4), "\x05\x01\x00\x01\x0a\x00\x00\x01\x12\x34"s);
    EXPECT_EQ(left_of(ipv4, "\x05\x00\x00\x03\x02xy\x00\x50z"s), "z");
    EXPECT_EQ(ipv4.state(), State::done);

    auto ipv6 = to(kSocks, "fd00::1");
    static_cast<void>(said(ipv6));
    EXPECT_EQ(left_of(ipv6, "\x05\x00"s), "");
    EXPECT_EQ(said(ipv6), "\x05\x01\x00\x04\xfd"s + std::string(14, '\0') + "\x01\x12\x34");
    EXPECT_EQ(left_of(ipv6, "\x05\x00\x00\x04"s + std::string(18, 'x') + "z"), "z");
    EXPECT_EQ(ipv6.state(), State::done);
}

TEST(ProxyHandshake, ASocksFailureHasItsReason) {
    const auto failure = [](const std::string& method, const std::string& next, const std::string& username = "") {
        auto handshake = to(kSocks, "a", username);
        static_cast<void>(said(handshake));
        static_cast<void>(left_of(handshake, method));
        static_cast<void>(said(handshake));
        static_cast<void>(left_of(handshake, next));
        EXPECT_EQ(handshake.state(), State::failed);
        return handshake.failure();
    };
    EXPECT_EQ(failure("HT", ""), "proxy proxy:1080: not a SOCKS5 proxy");
    EXPECT_EQ(failure("\x05\xff"s, ""), "proxy proxy:1080: it requires a user name");
    EXPECT_EQ(failure("\x05\xff"s, "", "me"), "proxy proxy:1080: no authentication method in common");
    EXPECT_EQ(failure("\x05\x02"s, "\x01\x01"s, "me"), "proxy proxy:1080: user name or password refused");
    EXPECT_EQ(failure("\x05\x00"s, "\x05\x05\x00\x01\x00"s), "proxy proxy:1080: connection refused");
    EXPECT_EQ(failure("\x05\x00"s, "\x05\x63\x00\x01\x00"s), "proxy proxy:1080: unknown error");
    EXPECT_EQ(failure("\x05\x00"s, "\x05\x00\x00\x09\x00"s), "proxy proxy:1080: not a SOCKS5 proxy");
    EXPECT_THROW(to(kSocks, std::string(256, 'a')), std::invalid_argument);
    EXPECT_THROW(to(kSocks, "a", "me", std::string(256, 'a')), std::invalid_argument);
}

TEST(ProxyHandshake, HttpConnectLeavesTheCounterpartysBytes) {
    auto handshake = to(kHttp, "a.example", "me", "pass:word");
    EXPECT_EQ(said(handshake),
              "CONNECT a.example:4660 HTTP/1.1\r\nHost: a.example:4660\r\n"
              "Proxy-Authorization: Basic bWU6cGFzczp3b3Jk\r\n\r\n");
    EXPECT_EQ(left_of(handshake, "HTTP/1.0 200 Established\r\nVia: x\r\n\r\n8=FIX"), "8=FIX");
    EXPECT_EQ(handshake.state(), State::done);
    auto ipv6 = to(kHttp, "fd00::1");
    EXPECT_EQ(said(ipv6), "CONNECT [fd00::1]:4660 HTTP/1.1\r\nHost: [fd00::1]:4660\r\n\r\n");
}

TEST(ProxyHandshake, AnHttpFailureHasItsReason) {
    const auto failure = [](const std::string& answer) {
        auto handshake = to(kHttp, "a");
        static_cast<void>(said(handshake));
        static_cast<void>(left_of(handshake, answer));
        EXPECT_EQ(handshake.state(), State::failed);
        return handshake.failure();
    };
    EXPECT_EQ(failure("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
              "proxy proxy:1080: HTTP/1.1 407 Proxy Authentication Required");
    EXPECT_EQ(failure("HTTP/1.1 2\r\n\r\n"), "proxy proxy:1080: HTTP/1.1 2");
    EXPECT_EQ(failure("SSH-2.0\r\n\r\n"), "proxy proxy:1080: SSH-2.0");
    EXPECT_EQ(failure(std::string(10'000, 'x')), "proxy proxy:1080: its response is too long");
    EXPECT_THROW(to(kHttp, "a\r\nX: y"), std::invalid_argument);
}

}  // namespace
}  // namespace millpond::engine
