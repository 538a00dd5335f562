#include "interface.hpp"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <millpond/net/interface_of.hpp>
#include <millpond/net/socket_error.hpp>

namespace millpond::net {

std::string interface_of(const SocketAddress& address) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner{list, &freeifaddrs};
    for (const auto* each = list; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr) continue;
        sockaddr_storage held{};
        const auto length = each->ifa_addr->sa_family == AF_INET    ? sizeof(sockaddr_in)
                            : each->ifa_addr->sa_family == AF_INET6 ? sizeof(sockaddr_in6)
                                                                    : 0;
        std::memcpy(&held, each->ifa_addr, length);
        if (SocketAddress::from_kernel(held).with_port(address.port()) == address) return each->ifa_name;
    }
    return {};
}

namespace detail {
namespace {

std::string names_of_all() {
    const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> all{if_nameindex(), &if_freenameindex};
    std::string names;
    for (const auto* each = all.get(); each != nullptr && each->if_index != 0; ++each) {
        if (!names.empty()) names += ", ";
        names += each->if_name;
    }
    return names;
}

ifreq request_for(const std::string& interface, void* argument) {
    ifreq request{};
    std::memcpy(request.ifr_name, interface.data(), std::min<std::size_t>(interface.size(), IFNAMSIZ - 1));
    request.ifr_data = static_cast<char*>(argument);
    return request;
}

std::string reason(const char* call) { return std::string(call) + ": " + std::generic_category().message(errno); }

}  // namespace

unsigned interface_index(const std::string& name) {
    if (name.empty()) return 0;
    if (const auto index = if_nametoindex(name.c_str()); index != 0) return index;
    throw SocketError(ENODEV, "interface '" + name + "' does not exist; this machine has " + names_of_all());
}

std::string enable_nic_time(int socket, const std::string& interface) {
    if (interface.empty()) return "the interface must be named";

    ethtool_ts_info able{};
    able.cmd = ETHTOOL_GET_TS_INFO;
    auto request = request_for(interface, &able);
    if (ioctl(socket, SIOCETHTOOL, &request) != 0) return reason("it does not report its timestamping capabilities");
    constexpr unsigned kHardware = SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
    if ((able.so_timestamping & kHardware) != kHardware) return "it has no clock for timestamps of received packets";
    if ((able.rx_filters & (1U << HWTSTAMP_FILTER_ALL)) == 0) return "it timestamps only PTP packets";

    hwtstamp_config config{};
    request = request_for(interface, &config);
    const bool told = ioctl(socket, SIOCGHWTSTAMP, &request) == 0;
    if (!told || config.rx_filter != HWTSTAMP_FILTER_ALL) {
        config.flags = 0;
        config.rx_filter = HWTSTAMP_FILTER_ALL;
        if (ioctl(socket, SIOCSHWTSTAMP, &request) != 0)
            return reason("enabling its receive timestamps failed (needs CAP_NET_ADMIN)");
    }
    const unsigned flags = kHardware;
    if (setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags) != 0) return reason("SO_TIMESTAMPING");
    return {};
}

}  // namespace detail
}  // namespace millpond::net
