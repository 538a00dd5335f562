#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/clock.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "interface.hpp"

namespace millpond::net {
namespace {

constexpr std::size_t kLongestDatagram = 65'536;
constexpr std::size_t kMostMessages = 1024;
constexpr std::size_t kLargestBuffer = std::size_t{1} << 30;
/// Room in the list of a poll for each train; a longer one is continued by the next poll.
constexpr std::size_t kDatagramsPerTrain = 64;
/// Two sets of time stamps, the drop counter and the segment size, rounded up to whole cache lines.
constexpr std::size_t kControlBytes = 192;
static_assert(kControlBytes >= CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(3 * sizeof(timespec)) +
                                   CMSG_SPACE(sizeof(std::uint32_t)) + CMSG_SPACE(sizeof(int)));

void check(const UdpReceiver::Options& options) {
    const auto refuse = [](const std::string& what) { throw std::invalid_argument("UdpReceiver: " + what); };
    if (options.local.empty()) refuse("local address is missing");
    if (options.batch < 1 || options.batch > kMostMessages)
        refuse("batch is " + std::to_string(options.batch) + ", it must be 1 to " + std::to_string(kMostMessages));
    if (options.max_datagram < 1 || options.max_datagram > kLongestDatagram)
        refuse("max_datagram is " + std::to_string(options.max_datagram) + ", it must be 1 to " +
               std::to_string(kLongestDatagram));
    if (options.receive_buffer > kLargestBuffer)
        refuse("receive_buffer is " + std::to_string(options.receive_buffer) + ", the most is " +
               std::to_string(kLargestBuffer));
    if (options.busy_poll.count() < 0 || options.busy_poll > std::chrono::seconds(1))
        refuse("busy_poll is " + std::to_string(options.busy_poll.count()) + " us, it must be 0 to 1000000");
    if (!options.source.empty() && !options.local.is_multicast())
        refuse("a source needs a multicast group, " + options.local.to_string() + " is none");
    if (!options.source.empty() && options.source.family() != options.local.family())
        refuse("source " + options.source.host() + " and group " + options.local.host() + " differ in family");
    if (options.local.is_link_local_ipv6() && options.local.scope() == 0 && options.interface.empty())
        refuse(options.local.host() + " is valid on one link only: name the interface");
}

template <class Value>
int set_option(int socket, int level, int name, const Value& value) noexcept {
    return setsockopt(socket, level, name, &value, sizeof value);
}

template <class Value>
Value get_option(int socket, int level, int name) noexcept {
    Value value{};
    socklen_t length = sizeof value;
    getsockopt(socket, level, name, &value, &length);
    return value;
}

std::int64_t nanos(const timespec& time) noexcept { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::string bind_failure(const SocketAddress& local, int error) {
    auto what = "cannot bind " + local.to_string();
    if (error == EADDRINUSE) return what + ": the port is taken by another socket";
    if (error == EADDRNOTAVAIL) return what + ": no interface of this machine has that address";
    if (error == EACCES) return what + ": ports below net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE";
    return what;
}

std::string join_failure(const UdpReceiver::Options& options, int error) {
    auto what = "cannot join " + options.local.host();
    if (!options.source.empty()) what += " from " + options.source.host();
    if (!options.interface.empty()) what += " on " + options.interface;
    if (error == ENODEV && options.interface.empty()) return what + ": no route leads there, name the interface";
    if (error == ENOBUFS) return what + ": too many groups, raise net.ipv4.igmp_max_memberships and igmp_max_msf";
    return what;
}

}  // namespace

UdpReceiver::UdpReceiver(const Options& options) : batch_(options.batch) {
    check(options);
    set_up(options);
    make_buffers(options);
}

void UdpReceiver::set_up(const Options& options) {
    auto local = options.local;
    const auto index = detail::interface_index(options.interface);
    if (local.is_link_local_ipv6() && local.scope() == 0) local = local.with_scope(index);
    const bool ipv6 = local.family() == SocketAddress::Family::ipv6;

    socket_ = detail::Descriptor{::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const int fd = socket_.get();
    if (!socket_.valid()) throw SocketError(errno, "cannot open a socket for " + local.to_string());

    const auto must = [&](int result, const char* what) {
        if (result != 0) throw SocketError(errno, std::string(what) + " on " + local.to_string());
    };
    // `enable` returns why it failed, empty when it did not.
    const auto want = [&](Want wanted, const std::string& what, auto&& enable) {
        if (wanted == Want::no) return false;
        const std::string failure = enable();
        if (failure.empty()) return true;
        const auto sentence = what + " on " + local.to_string() + ": " + failure;
        if (wanted == Want::require) throw SocketError(EOPNOTSUPP, "required: " + sentence);
        report_.fallbacks.push_back(sentence);
        return false;
    };
    const auto because = [](const char* call) {
        return std::string(call) + ": " + std::generic_category().message(errno);
    };

    if (ipv6) must(set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1), "IPV6_V6ONLY");
    // Every subscriber of a group on this machine gets its own copy; a unicast port has one owner.
    if (local.is_multicast()) must(set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1), "SO_REUSEADDR");
    if (index != 0 && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, options.interface.c_str(),
                                 static_cast<socklen_t>(options.interface.size())) != 0)
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
        report_.busy_poll = std::chrono::microseconds(get_option<int>(fd, SOL_SOCKET, SO_BUSY_POLL));
    }
    report_.gro = want(options.gro, "UDP_GRO", [&]() -> std::string {
        return set_option(fd, SOL_UDP, UDP_GRO, 1) == 0 ? std::string{} : because("setsockopt");
    });
    report_.nic_time = want(options.nic_time, "NIC receive time", [&]() -> std::string {
        const auto name = options.interface.empty() ? detail::interface_of(local) : options.interface;
        auto failure = detail::enable_nic_time(fd, name);
        if (!failure.empty() && !name.empty()) failure = "interface '" + name + "': " + failure;
        return failure;
    });

    sockaddr_storage address;
    const auto length = local.to_kernel(address);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0)
        throw SocketError(errno, bind_failure(local, errno));
    if (local.is_multicast()) join(options, index);

    sockaddr_storage bound{};
    socklen_t bound_length = sizeof bound;
    must(getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &bound_length), "getsockname");
    report_.local = SocketAddress::from_kernel(bound);
    report_.interface = options.interface;
    report_.receive_buffer = static_cast<std::size_t>(get_option<int>(fd, SOL_SOCKET, SO_RCVBUF)) / 2;
}

void UdpReceiver::join(const Options& options, unsigned interface_index) {
    const int fd = socket_.get();
    const bool ipv6 = options.local.family() == SocketAddress::Family::ipv6;
    const int level = ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
    // Off: deliver only what this socket joined, not what any socket of the machine did.
    set_option(fd, level, ipv6 ? IPV6_MULTICAST_ALL : IP_MULTICAST_ALL, 0);
    int result = 0;
    if (options.source.empty()) {
        group_req request{};
        request.gr_interface = interface_index;
        options.local.to_kernel(request.gr_group);
        result = set_option(fd, level, MCAST_JOIN_GROUP, request);
    } else {
        group_source_req request{};
        request.gsr_interface = interface_index;
        options.local.to_kernel(request.gsr_group);
        options.source.to_kernel(request.gsr_source);
        result = set_option(fd, level, MCAST_JOIN_SOURCE_GROUP, request);
    }
    if (result != 0) throw SocketError(errno, join_failure(options, errno));
}

void UdpReceiver::make_buffers(const Options& options) {
    const auto longest = report_.gro ? kLongestDatagram : options.max_datagram;
    const auto stride = (longest + core::kCacheLine - 1) / core::kCacheLine * core::kCacheLine;
    memory_ = memory::Region::anonymous(batch_ * (stride + kControlBytes), options.memory);
    auto* const controls = memory_.data() + batch_ * stride;
    vectors_.resize(batch_);
    messages_.resize(batch_);
    datagrams_.resize(report_.gro ? batch_ * kDatagramsPerTrain : batch_);
    for (std::size_t i = 0; i < batch_; ++i) {
        vectors_[i] = {memory_.data() + i * stride, longest};
        auto& header = messages_[i].msg_hdr;
        header.msg_iov = &vectors_[i];
        header.msg_iovlen = 1;
        header.msg_control = controls + i * kControlBytes;
        header.msg_controllen = kControlBytes;
    }
}

std::span<const Datagram> UdpReceiver::poll() noexcept {
    delivered_ = 0;
    if (next_message_ != received_ || receive()) deliver();
    return {datagrams_.data(), delivered_};
}

bool UdpReceiver::receive() noexcept {
    next_message_ = 0;
    received_ = 0;
    // MSG_TRUNC: the length of a datagram that does not fit is its own, not that of the buffer.
    constexpr int kFlags = MSG_DONTWAIT | MSG_TRUNC;
    int count = 0;
    if (wanted_ == 1) {
        const auto length = recvmsg(socket_.get(), &messages_[0].msg_hdr, kFlags);
        messages_[0].msg_len = static_cast<unsigned>(length);
        count = length < 0 ? -1 : 1;
    } else {
        count = recvmmsg(socket_.get(), messages_.data(), static_cast<unsigned>(wanted_), kFlags, nullptr);
    }
    ticks_ = core::ticks();
    if (count < 0) {
        wanted_ = 1;
        if (errno != EAGAIN && errno != EINTR) {
            counts_.errors.add();
            counts_.last_error.set(static_cast<std::uint64_t>(errno));
        }
        return false;
    }
    received_ = static_cast<std::size_t>(count);
    wanted_ = received_ == wanted_ ? std::min(2 * wanted_, batch_) : 1;
    return true;
}

void UdpReceiver::deliver() noexcept {
    // Not members until the end: what is written to the list could be any of them, for all that the compiler knows.
    auto* out = datagrams_.data();
    auto* const room = out + datagrams_.size();
    std::uint64_t bytes = 0;
    for (; next_message_ != received_ && out != room; ++next_message_) {
        auto& header = messages_[next_message_].msg_hdr;
        const std::size_t length = messages_[next_message_].msg_len;
        const auto stamps = read_control(header);
        if ((header.msg_flags & MSG_TRUNC) != 0) {
            counts_.truncated.add();
            counts_.longest_truncated.set(std::max<std::uint64_t>(counts_.longest_truncated.read(), length));
        } else {
            const auto segment = stamps.segment == 0 ? length : stamps.segment;
            const auto utc = stamps.nic != 0 ? stamps.nic : stamps.kernel;
            const auto* const first = out;
            const auto* at = static_cast<const std::byte*>(vectors_[next_message_].iov_base) + next_offset_;
            auto left = length - next_offset_;
            bytes += left;
            do {
                const auto size = std::min(segment, left);
                *out++ = {{at, size}, utc, ticks_};
                at += size;
                left -= size;
            } while (left != 0 && out != room);
            if (segment < length) wanted_ = 1;  // a train is a batch by itself
            bytes -= left;
            if (report_.nic_time && stamps.nic == 0)
                counts_.without_nic_time.add(static_cast<std::size_t>(out - first));
            if (left != 0) {
                next_offset_ = length - left;
                break;
            }
        }
        header.msg_controllen = kControlBytes;
        next_offset_ = 0;
    }
    delivered_ = static_cast<std::size_t>(out - datagrams_.data());
    counts_.datagrams.add(delivered_);
    counts_.bytes.add(bytes);
}

UdpReceiver::Stamps UdpReceiver::read_control(msghdr& header) noexcept {
    Stamps stamps;
    const auto copy = [](const cmsghdr* from, auto& to) { std::memcpy(&to, CMSG_DATA(from), sizeof to); };
    for (auto* control = CMSG_FIRSTHDR(&header); control != nullptr; control = CMSG_NXTHDR(&header, control)) {
        if (control->cmsg_level == SOL_UDP && control->cmsg_type == UDP_GRO) {
            int segment = 0;
            copy(control, segment);
            stamps.segment = static_cast<std::size_t>(segment);
        } else if (control->cmsg_level != SOL_SOCKET) {
            continue;
        } else if (control->cmsg_type == SO_TIMESTAMPNS) {
            timespec time;
            copy(control, time);
            stamps.kernel = nanos(time);
        } else if (control->cmsg_type == SO_TIMESTAMPING) {
            std::array<timespec, 3> times;  // software, deprecated, the interface's clock
            copy(control, times);
            stamps.nic = nanos(times[2]);
        } else if (control->cmsg_type == SO_RXQ_OVFL) {
            std::uint32_t total = 0;
            copy(control, total);
            note_drops(total);
        }
    }
    return stamps;
}

void UdpReceiver::note_drops(std::uint32_t kernel_total) noexcept {
    // The kernel counts in 32 bits and wraps. A queued datagram may carry an older total than the one we asked for.
    const auto fresh = static_cast<std::int32_t>(kernel_total - kernel_total_);
    if (fresh <= 0) return;
    kernel_total_ = kernel_total;
    counts_.kernel_drops.add(static_cast<std::uint64_t>(fresh));
}

std::uint64_t UdpReceiver::refresh_kernel_drops() noexcept {
    const auto memory = get_option<std::array<std::uint32_t, SK_MEMINFO_VARS>>(socket_.get(), SOL_SOCKET, SO_MEMINFO);
    note_drops(memory[SK_MEMINFO_DROPS]);
    return counts_.kernel_drops.read();
}

}  // namespace millpond::net
