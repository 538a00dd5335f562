#include "udp_socket.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>

#include <millpond/net/interface_of.hpp>

#include "interface.hpp"
#include "socket_option.hpp"

namespace millpond::net::detail {
namespace {

std::string bind_failure(const SocketAddress& local, int error) {
    auto what = "cannot bind " + local.to_string();
    if (error == EADDRINUSE) return what + ": the port is taken by another socket";
    if (error == EADDRNOTAVAIL) return what + ": no interface of this machine has that address";
    if (error == EACCES) return what + ": ports below net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE";
    return what;
}

std::string join_failure(const ReceiveOptions& options, int error) {
    auto what = "cannot join " + options.local.host();
    if (!options.source.empty()) what += " from " + options.source.host();
    if (!options.interface.empty()) what += " on " + options.interface;
    if (error == ENODEV && options.interface.empty()) return what + ": no route to the group; set the interface";
    if (error == ENOBUFS) return what + ": too many groups, raise net.ipv4.igmp_max_memberships and igmp_max_msf";
    return what;
}

int level_of(const SocketAddress& group) {
    return group.family() == SocketAddress::Family::ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
}

/// Joins or leaves a group with the option for any source or for one source. Returns 0, or -1 with errno.
int change_membership(int fd, const Joined& joined, int any_source, int one_source) noexcept {
    if (joined.source.empty()) {
        group_req request{};
        request.gr_interface = joined.index;
        joined.group.to_kernel(request.gr_group);
        return set_option(fd, level_of(joined.group), any_source, request);
    }
    group_source_req request{};
    request.gsr_interface = joined.index;
    joined.group.to_kernel(request.gsr_group);
    joined.source.to_kernel(request.gsr_source);
    return set_option(fd, level_of(joined.group), one_source, request);
}

int join(int fd, const Joined& joined) noexcept {
    return change_membership(fd, joined, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP);
}

int bind_to_interface(int fd, const std::string& interface) noexcept {
    return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(), static_cast<socklen_t>(interface.size()));
}

bool is_no_route(int error) {
    return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN || error == EADDRNOTAVAIL;
}

}  // namespace

int connect_udp_socket(int fd, const SocketAddress& peer) noexcept {
    sockaddr_storage address;
    const auto length = peer.to_kernel(address);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0 ? 0 : errno;
}

bool join_again(int fd, Joined& joined) noexcept {
    if (joined.interface.empty()) return false;
    ifreq request{};
    joined.interface.copy(request.ifr_name, IFNAMSIZ - 1);
    if (ioctl(fd, SIOCGIFINDEX, &request) != 0) return false;  // the interface does not exist at the moment
    auto now = joined;
    now.index = static_cast<unsigned>(request.ifr_ifindex);
    if (now.index == joined.index || bind_to_interface(fd, now.interface) != 0) return false;
    if (!now.group.empty()) {
        // The old membership would still count towards igmp_max_memberships.
        change_membership(fd, joined, MCAST_LEAVE_GROUP, MCAST_LEAVE_SOURCE_GROUP);
        if (join(fd, now) != 0) return false;
    }
    joined.index = now.index;
    return true;
}

core::Descriptor open_udp_socket(const ReceiveOptions& options, ReceiveReport& report, Joined& joined) {
    auto local = options.peer.empty() ? options.local : options.peer;
    const auto index = interface_index(options.interface);
    if (local.is_link_local_ipv6() && local.scope() == 0) local = local.with_scope(index);
    const bool ipv6 = local.family() == SocketAddress::Family::ipv6;

    core::Descriptor socket{::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const int fd = socket.get();
    if (!socket) throw SocketError(errno, "cannot open a socket for " + local.to_string());

    const auto must = [&](int result, const char* what) {
        if (result != 0) throw SocketError(errno, std::string(what) + " on " + local.to_string());
    };
    const auto want = [&](Want wanted, const std::string& what, auto&& enable) {
        return fulfil(wanted, what + " on " + local.to_string(), report, enable);
    };
    const auto because = [](const char* call) {
        return std::string(call) + ": " + std::generic_category().message(errno);
    };

    if (ipv6) must(set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1), "IPV6_V6ONLY");
    // Every subscriber of a group on this machine gets its own copy; a unicast port has one owner.
    if (local.is_multicast()) must(set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1), "SO_REUSEADDR");
    if (index != 0 && bind_to_interface(fd, options.interface) != 0)
        throw SocketError(errno, "cannot bind a socket to interface '" + options.interface + "'");

    must(set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1), "SO_TIMESTAMPNS");
    must(set_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1), "SO_RXQ_OVFL");

    if (options.receive_buffer != 0) {
        want(options.receive_buffer_want, "receive buffer of " + std::to_string(options.receive_buffer) + " bytes",
             [&]() -> std::string {
                 const int bytes = static_cast<int>(options.receive_buffer);
                 if (set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, bytes) != 0)
                     must(set_option(fd, SOL_SOCKET, SO_RCVBUF, bytes), "SO_RCVBUF");
                 const int granted = get_option<int>(fd, SOL_SOCKET, SO_RCVBUF) / 2;
                 if (granted >= bytes) return {};
                 return "the kernel granted " + std::to_string(granted) +
                        ", raise net.core.rmem_max or give CAP_NET_ADMIN";
             });
    }
    if (options.busy_poll.count() != 0) {
        want(options.busy_poll_want, "busy polling", [&]() -> std::string {
            const int micros = static_cast<int>(options.busy_poll.count());
            if (set_option(fd, SOL_SOCKET, SO_BUSY_POLL, micros) == 0) return {};
            return because("SO_BUSY_POLL (needs CAP_NET_ADMIN)");
        });
        report.busy_poll = std::chrono::microseconds(get_option<int>(fd, SOL_SOCKET, SO_BUSY_POLL));
    }
    report.gro = want(options.gro, "UDP_GRO", [&]() -> std::string {
        return set_option(fd, SOL_UDP, UDP_GRO, 1) == 0 ? std::string{} : because("setsockopt");
    });
    report.nic_time = want(options.nic_time, "NIC receive time", [&]() -> std::string {
        const auto name = options.interface.empty() ? interface_of(local) : options.interface;
        auto failure = enable_nic_time(fd, name);
        if (!failure.empty() && !name.empty()) failure = "interface '" + name + "': " + failure;
        return failure;
    });

    sockaddr_storage address;
    const auto length = local.to_kernel(address);
    // Not bound before: a datagram of another sender received meanwhile would stay.
    const int refused = options.peer.empty() ? 0 : connect_udp_socket(fd, local);
    if (refused != 0 && !is_no_route(refused)) throw SocketError(refused, "cannot connect to " + local.to_string());
    if (options.peer.empty() && ::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0)
        throw SocketError(errno, bind_failure(local, errno));
    joined = {.group = {}, .source = options.source, .interface = options.interface, .index = index};
    if (local.is_multicast()) {
        joined.group = options.local;
        // Off: deliver only groups that this socket joined, not those of any socket of the machine.
        set_option(fd, level_of(local), ipv6 ? IPV6_MULTICAST_ALL : IP_MULTICAST_ALL, 0);
        if (join(fd, joined) != 0) throw SocketError(errno, join_failure(options, errno));
    }

    sockaddr_storage bound{};
    socklen_t bound_length = sizeof bound;
    must(getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &bound_length), "getsockname");
    report.local = SocketAddress::from_kernel(bound);
    report.interface = options.interface;
    report.receive_buffer = static_cast<std::size_t>(get_option<int>(fd, SOL_SOCKET, SO_RCVBUF)) / 2;
    return socket;
}

}  // namespace millpond::net::detail
