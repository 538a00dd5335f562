#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <millpond/net/udp_sender.hpp>

#include "interface.hpp"

namespace millpond::net {
namespace {

constexpr std::size_t kMaxMessages = 1024;
constexpr std::size_t kMaxBuffer = std::size_t{1} << 30;
constexpr std::size_t kMaxInTrain = 64;         // the kernel's UDP_MAX_SEGMENTS, before it was raised
constexpr std::size_t kMaxTrain = 65'535 - 48;  // the kernel builds it as one packet first
constexpr std::size_t kIpv4Headers = 28;
constexpr std::size_t kIpv6Headers = 48;

void check(const UdpSender::Options& options) {
    const auto refuse = [](const std::string& what) { throw std::invalid_argument("UdpSender: " + what); };
    if (options.to.empty()) refuse("address to send to is missing");
    if (options.to.port() == 0) refuse("port of " + options.to.to_string() + " must not be 0");
    if (options.ttl < 0 || options.ttl > 255) refuse("ttl is " + std::to_string(options.ttl) + ", it must be 0 to 255");
    if (options.batch < 1 || options.batch > kMaxMessages)
        refuse("batch is " + std::to_string(options.batch) + "; it must be 1 to " + std::to_string(kMaxMessages));
    if (options.send_buffer > kMaxBuffer)
        refuse("send_buffer is " + std::to_string(options.send_buffer) + ", the maximum is " +
               std::to_string(kMaxBuffer));
    if (!options.from.empty() && options.from.family() != options.to.family())
        refuse("addresses " + options.from.to_string() + " and " + options.to.to_string() + " differ in family");
}

template <class Value>
int set_option(int socket, int level, int name, const Value& value) noexcept {
    return setsockopt(socket, level, name, &value, sizeof value);
}

int get_int(int socket, int level, int name) noexcept {
    int value = 0;
    socklen_t length = sizeof value;
    getsockopt(socket, level, name, &value, &length);
    return value;
}

}  // namespace

UdpSender::UdpSender(const Options& options) : batch_(options.batch) {
    check(options);
    set_up(options);
    vectors_.resize(batch_);
    controls_.resize(batch_);
    messages_.resize(batch_);
}

void UdpSender::set_up(const Options& options) {
    auto to = options.to;
    const auto index = detail::interface_index(options.interface);
    if (to.is_link_local_ipv6() && to.scope() == 0) to = to.with_scope(index);
    const bool ipv6 = to.family() == SocketAddress::Family::ipv6;

    socket_ = core::Descriptor{::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const int fd = socket_.get();
    if (!socket_) throw SocketError(errno, "cannot open a socket for " + to.to_string());
    const auto must = [&](int result, const std::string& what) {
        if (result != 0) throw SocketError(errno, what);
    };
    const auto fall_back = [&](Want wanted, const std::string& sentence) {
        if (wanted == Want::require) throw SocketError(EOPNOTSUPP, "required: " + sentence);
        report_.fallbacks.push_back(sentence);
    };

    if (to.is_multicast()) set_up_multicast(options, index);
    if (options.send_buffer != 0 && options.send_buffer_want != Want::no) {
        const int bytes = static_cast<int>(options.send_buffer);
        if (set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, bytes) != 0)
            must(set_option(fd, SOL_SOCKET, SO_SNDBUF, bytes), "SO_SNDBUF");
        const int granted = get_int(fd, SOL_SOCKET, SO_SNDBUF) / 2;
        if (granted < bytes)
            fall_back(options.send_buffer_want, "send buffer of " + std::to_string(bytes) +
                                                    " bytes: the kernel granted " + std::to_string(granted) +
                                                    ", raise net.core.wmem_max or give CAP_NET_ADMIN");
    }
    report_.send_buffer = static_cast<std::size_t>(get_int(fd, SOL_SOCKET, SO_SNDBUF)) / 2;

    sockaddr_storage address;
    if (!options.from.empty()) {
        const auto length = options.from.to_kernel(address);
        must(::bind(fd, reinterpret_cast<const sockaddr*>(&address), length),
             "cannot send from " + options.from.to_string());
    }
    const auto length = to.to_kernel(address);
    must(::connect(fd, reinterpret_cast<const sockaddr*>(&address), length), "cannot send to " + to.to_string());

    if (options.gso != Want::no) {
        // Probed, then off again: each train sets its own size.
        report_.gso = set_option(fd, SOL_UDP, UDP_SEGMENT, 0) == 0;
        if (!report_.gso)
            fall_back(options.gso, "UDP_SEGMENT to " + to.to_string() + ": " + std::generic_category().message(errno));
        const auto mtu =
            static_cast<std::size_t>(ipv6 ? get_int(fd, IPPROTO_IPV6, IPV6_MTU) : get_int(fd, IPPROTO_IP, IP_MTU));
        const auto headers = ipv6 ? kIpv6Headers : kIpv4Headers;
        if (report_.gso && mtu > headers) max_in_train_ = mtu - headers;
    }
    sockaddr_storage bound{};
    socklen_t bound_length = sizeof bound;
    must(getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &bound_length), "getsockname");
    report_.local = SocketAddress::from_kernel(bound);
}

void UdpSender::set_up_multicast(const Options& options, unsigned interface_index) {
    const int fd = socket_.get();
    const int loop = options.loop ? 1 : 0;
    const auto must = [&](int result, const char* what) {
        if (result != 0) throw SocketError(errno, std::string(what) + " for " + options.to.to_string());
    };
    if (options.to.family() == SocketAddress::Family::ipv6) {
        must(set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, options.ttl), "IPV6_MULTICAST_HOPS");
        must(set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loop), "IPV6_MULTICAST_LOOP");
        if (interface_index != 0)
            must(set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface_index)),
                 "IPV6_MULTICAST_IF");
        return;
    }
    must(set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, options.ttl), "IP_MULTICAST_TTL");
    must(set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, loop), "IP_MULTICAST_LOOP");
    if (interface_index != 0) {
        ip_mreqn request{};
        request.imr_ifindex = static_cast<int>(interface_index);
        must(set_option(fd, IPPROTO_IP, IP_MULTICAST_IF, request), "IP_MULTICAST_IF");
    }
}

std::size_t UdpSender::send(std::span<const std::span<const std::byte>> datagrams) noexcept {
    std::size_t accepted = 0;
    bool peer_refused = false;
    while (accepted < datagrams.size()) {
        const auto messages = pack(datagrams.subspan(accepted));
        const int sent = sendmmsg(socket_.get(), messages_.data(), static_cast<unsigned>(messages), MSG_DONTWAIT);
        if (sent < 0) {
            // The result was the error of an earlier datagram: try again.
            if (errno == ECONNREFUSED && !peer_refused) {
                peer_refused = true;
                counters_.peer_refused.add();
                continue;
            }
            note_refusal(errno);
            break;
        }
        peer_refused = false;
        account(static_cast<std::size_t>(sent), accepted);
    }
    return accepted;
}

std::size_t UdpSender::pack(std::span<const std::span<const std::byte>> datagrams) noexcept {
    const auto count = std::min(datagrams.size(), batch_);
    std::size_t messages = 0;
    for (std::size_t first = 0; first < count; ++messages) {
        const auto segment = datagrams[first].size();
        const auto max = std::min(kMaxInTrain, segment == 0 ? 1 : kMaxTrain / segment);
        std::size_t end = first;
        do {
            // The kernel reads the bytes only; iovec is shared with receiving and cannot say so.
            vectors_[end] = {const_cast<std::byte*>(datagrams[end].data()), datagrams[end].size()};
            ++end;
            // A train's last datagram may be shorter than the others.
        } while (end < count && end - first < max && segment <= max_in_train_ && datagrams[end - 1].size() == segment &&
                 datagrams[end].size() <= segment && !datagrams[end].empty());

        auto& header = messages_[messages].msg_hdr;
        header.msg_iov = &vectors_[first];
        header.msg_iovlen = end - first;
        header.msg_control = nullptr;
        header.msg_controllen = 0;
        if (end - first > 1) {
            header.msg_control = controls_[messages].bytes.data();
            header.msg_controllen = sizeof(Control);
            auto* control = CMSG_FIRSTHDR(&header);
            control->cmsg_level = SOL_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
            const auto size = static_cast<std::uint16_t>(segment);
            std::memcpy(CMSG_DATA(control), &size, sizeof size);
        }
        first = end;
    }
    return messages;
}

void UdpSender::account(std::size_t messages, std::size_t& accepted) noexcept {
    std::uint64_t bytes = 0;
    std::size_t datagrams = 0;
    for (std::size_t i = 0; i < messages; ++i) {
        datagrams += messages_[i].msg_hdr.msg_iovlen;
        bytes += messages_[i].msg_len;
    }
    accepted += datagrams;
    counters_.datagrams.add(datagrams);
    counters_.bytes.add(bytes);
}

void UdpSender::note_refusal(int error) noexcept {
    if (error == EAGAIN) {
        counters_.would_block.add();
    } else if (error == ENOBUFS) {
        counters_.no_buffers.add();
    } else {
        counters_.errors.add();
        counters_.last_error.set(static_cast<std::uint64_t>(error));
    }
}

}  // namespace millpond::net
