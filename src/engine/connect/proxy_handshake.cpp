#include "src/engine/connect/proxy_handshake.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>

#include <millpond/core/base64.hpp>

namespace millpond::engine {
namespace {

constexpr std::size_t kMaxText = 255;          // maximum length of a name, user name or password in SOCKS5
constexpr std::size_t kMaxResponse = 8'192;    // maximum length of an HTTP response's head
constexpr std::size_t kShownOfResponse = 120;  // characters of its first line in an error
constexpr char kVersion = 5;
constexpr char kNoLogin = 0;
constexpr char kWithLogin = 2;
constexpr char kIpv4 = 1;
constexpr char kDomainName = 3;
constexpr char kIpv6 = 4;
constexpr std::string_view kEndOfHead = "\r\n\r\n";

/// The length as one byte, followed by the text.
std::string counted(std::string_view text) { return static_cast<char>(text.size()) + std::string{text}; }

std::string_view reply_text(char code) noexcept {
    switch (code) {
        case 1: return "general failure";
        case 2: return "connection not allowed by its rules";
        case 3: return "network unreachable";
        case 4: return "host unreachable";
        case 5: return "connection refused";
        case 6: return "time to live expired";
        case 7: return "command not supported";
        case 8: return "address type not supported";
        default: return "unknown error";
    }
}

Proxy checked(Proxy proxy, const Host& target) {
    if (proxy.kind == Proxy::Kind::socks5) {
        for (const std::string_view text :
             {std::string_view{proxy.username}, std::string_view{proxy.password}, std::string_view{target.name}}) {
            if (text.size() > kMaxText) {
                throw std::invalid_argument("SOCKS5 takes names and passwords of at most 255 bytes");
            }
        }
    }
    const auto has_break = [](const std::string& text) { return text.find_first_of("\r\n") != std::string::npos; };
    if (has_break(target.name)) throw std::invalid_argument("a host name contains a line break");
    return proxy;
}

}  // namespace

ProxyHandshake::ProxyHandshake(const Proxy& proxy, const Host& target)
    : proxy_(checked(proxy, target)), target_(target) {
    if (proxy_.kind == Proxy::Kind::socks5) {
        std::string greeting{kVersion, 1, kNoLogin};
        if (!proxy_.username.empty()) greeting = {kVersion, 2, kNoLogin, kWithLogin};
        send_and_expect(std::move(greeting), Step::method, 2);
        return;
    }
    const bool is_ipv6 = target_.name.find(':') != std::string::npos;
    const auto place = (is_ipv6 ? "[" + target_.name + "]" : target_.name) + ":" + std::to_string(target_.port);
    auto text = "CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n";
    if (!proxy_.username.empty()) {
        text += "Proxy-Authorization: Basic " + core::base64(proxy_.username + ":" + proxy_.password) + "\r\n";
    }
    send_and_expect(text + "\r\n", Step::response, 1);
}

void ProxyHandshake::send_and_expect(std::string bytes, Step next, std::size_t wanted) {
    output_ = std::move(bytes);
    sent_ = 0;
    step_ = next;
    input_.clear();
    wanted_ = wanted;
}

void ProxyHandshake::fail(std::string why) {
    state_ = State::failed;
    failure_ = "proxy " + proxy_.host.name + ":" + std::to_string(proxy_.host.port) + ": " + std::move(why);
}

void ProxyHandshake::receive(std::string_view bytes) {
    input_ += bytes;
    if (state_ != State::running || input_.size() < wanted_) return;
    switch (step_) {
        case Step::method: on_method(); break;
        case Step::login:
            if (input_[1] != 0) return fail("user name or password refused");
            request();
            break;
        case Step::reply: on_reply(); break;
        case Step::bound: state_ = State::done; break;
        case Step::response: on_response(); break;
    }
}

void ProxyHandshake::on_method() {
    if (input_[0] != kVersion) return fail("not a SOCKS5 proxy");
    if (input_[1] == kNoLogin) {
        request();
    } else if (input_[1] == kWithLogin && !proxy_.username.empty()) {
        send_and_expect('\x01' + counted(proxy_.username) + counted(proxy_.password), Step::login, 2);
    } else {
        fail(proxy_.username.empty() ? "it requires a user name" : "no authentication method in common");
    }
}

void ProxyHandshake::request() {
    std::string text{kVersion, 1, 0};
    std::array<char, 16> address{};
    if (::inet_pton(AF_INET, target_.name.c_str(), address.data()) == 1) {
        text += kIpv4 + std::string{address.data(), 4};
    } else if (::inet_pton(AF_INET6, target_.name.c_str(), address.data()) == 1) {
        text += kIpv6 + std::string{address.data(), 16};
    } else {
        text += kDomainName + counted(target_.name);
    }
    text += static_cast<char>(target_.port >> 8U);
    text += static_cast<char>(target_.port & 0xffU);
    // Version, result, 0, type of the address, and the first byte of the address.
    send_and_expect(std::move(text), Step::reply, 5);
}

void ProxyHandshake::on_reply() {
    if (input_[0] != kVersion) return fail("not a SOCKS5 proxy");
    if (input_[1] != 0) return fail(std::string{reply_text(input_[1])});
    const auto kind = input_[3];
    if (kind != kIpv4 && kind != kIpv6 && kind != kDomainName) return fail("not a SOCKS5 proxy");
    const std::size_t rest = kind == kIpv4 ? 3U : kind == kIpv6 ? 15U : static_cast<unsigned char>(input_[4]);
    wanted_ = input_.size() + rest + 2;
    step_ = Step::bound;
}

/// Reads one byte at a time: bytes after the head come from the counterparty.
void ProxyHandshake::on_response() {
    if (!input_.ends_with(kEndOfHead)) {
        if (input_.size() == kMaxResponse) return fail("its response is too long");
        ++wanted_;
        return;
    }
    const auto line = std::string_view{input_}.substr(0, input_.find('\r'));
    if (line.starts_with("HTTP/1.") && line.size() >= 12 && line[8] == ' ' && line[9] == '2') {
        state_ = State::done;
        return;
    }
    fail(std::string{line.substr(0, kShownOfResponse)});
}

}  // namespace millpond::engine
