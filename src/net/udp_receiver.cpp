#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <millpond/net/udp_receiver.hpp>

#include "datagram_list.hpp"
#include "socket_option.hpp"
#include "socket_path.hpp"
#include "udp_socket.hpp"
#include "xdp_path.hpp"

namespace millpond::net {
namespace {

constexpr std::size_t kMaxMessages = 1024;
constexpr std::size_t kMaxBuffer = std::size_t{1} << 30;

void check(const ReceiveOptions& options) {
    const auto refuse = [](const std::string& what) { throw std::invalid_argument("UdpReceiver: " + what); };
    if (options.local.empty() && options.peer.empty()) refuse("local address is missing");
    if (!options.local.empty() && !options.peer.empty()) refuse("needs either a local address or a peer, not both");
    if (!options.peer.empty() && (options.peer.port() == 0 || options.peer.is_multicast()))
        refuse("peer " + options.peer.to_string() + " is not a unicast address and port");
    if (!options.peer.empty() && options.path == ReceivePath::af_xdp) refuse("AF_XDP does not support a peer");
    if (options.batch < 1 || options.batch > kMaxMessages)
        refuse("batch is " + std::to_string(options.batch) + "; it must be 1 to " + std::to_string(kMaxMessages));
    if (options.max_datagram < 1 || options.max_datagram > detail::kMaxDatagram)
        refuse("max_datagram is " + std::to_string(options.max_datagram) + "; it must be 1 to " +
               std::to_string(detail::kMaxDatagram));
    if (options.receive_buffer > kMaxBuffer)
        refuse("receive_buffer is " + std::to_string(options.receive_buffer) + ", the maximum is " +
               std::to_string(kMaxBuffer));
    if (options.busy_poll.count() < 0 || options.busy_poll > std::chrono::seconds(1))
        refuse("busy_poll is " + std::to_string(options.busy_poll.count()) + " us, it must be 0 to 1000000");
    constexpr std::uint16_t kMaxVlan = 4094;
    if (options.vlan > kMaxVlan) refuse("vlan is " + std::to_string(options.vlan) + ", the highest is 4094");
    if (options.vlan != 0 && options.path != ReceivePath::af_xdp)
        refuse("vlan is for AF_XDP only; use the VLAN's own interface instead");
    if (!options.source.empty() && !options.local.is_multicast())
        refuse("a source needs a multicast group, " + options.local.to_string() + " is none");
    if (!options.source.empty() && options.source.family() != options.local.family())
        refuse("source " + options.source.host() + " and group " + options.local.host() + " differ in family");
    if (options.local.is_link_local_ipv6() && options.local.scope() == 0 && options.interface.empty())
        refuse(options.local.host() + " is valid on one link only; set the interface");
}

}  // namespace

const char* name_of(ReceivePath path) noexcept {
    switch (path) {
        case ReceivePath::socket: return "socket";
        case ReceivePath::af_xdp: return "af_xdp";
    }
    return "?";
}

struct UdpReceiver::Path {
    template <class Chosen, class... Arguments>
    explicit Path(std::in_place_type_t<Chosen> type, Arguments&&... arguments)
        : chosen(type, std::forward<Arguments>(arguments)...) {}

    [[nodiscard]] detail::SocketPath* socket() noexcept { return std::get_if<detail::SocketPath>(&chosen); }
    [[nodiscard]] detail::XdpPath* xdp() noexcept { return std::get_if<detail::XdpPath>(&chosen); }

    std::variant<detail::SocketPath, detail::XdpPath> chosen;
};

UdpReceiver::UdpReceiver(const ReceiveOptions& options) {
    check(options);
    socket_ = detail::open_udp_socket(options, report_, joined_);
    peer_ = options.peer;
    open_path(options);
}

UdpReceiver::~UdpReceiver() = default;

void UdpReceiver::open_path(const ReceiveOptions& options) {
    const auto what = std::string("path ") + name_of(options.path) + " on " + report_.local.to_string();
    // A socket can neither avoid copies nor select a VLAN.
    const bool only_xdp = options.zero_copy == Want::require || options.vlan != 0;
    const auto path_want = only_xdp ? Want::require : options.path_want;
    const bool by_xdp =
        options.path == ReceivePath::af_xdp && detail::fulfil(path_want, what, report_, [&]() -> std::string {
            try {
                path_ = std::make_unique<Path>(std::in_place_type<detail::XdpPath>, options, report_, counters_);
                return {};
            } catch (const SocketError& error) {
                return error.what();
            }
        });
    if (by_xdp) {
        report_.path = ReceivePath::af_xdp;
    } else {
        path_ =
            std::make_unique<Path>(std::in_place_type<detail::SocketPath>, socket_.get(), options, report_, counters_);
    }
}

std::span<const Datagram> UdpReceiver::poll() noexcept {
    if (auto* const socket = path_->socket()) return socket->poll();
    return path_->xdp()->poll();
}

bool UdpReceiver::connect() noexcept { return detail::connect_udp_socket(socket_.get(), peer_) == 0; }

bool UdpReceiver::send(std::span<const std::byte> datagram) noexcept {
    const auto try_send = [&] {
        return ::send(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    };
    // The result was the error of an earlier datagram without a listener: try again.
    return try_send() || (errno == ECONNREFUSED && try_send());
}

bool UdpReceiver::rejoin() noexcept {
    const bool again = path_->socket() != nullptr && detail::join_again(socket_.get(), joined_);
    if (again) counters_.rejoins.add();
    return again;
}

int UdpReceiver::fd() const noexcept {
    const auto* const xdp = path_->xdp();
    return xdp != nullptr ? xdp->fd() : socket_.get();
}

const memory::Region& UdpReceiver::memory() const noexcept {
    if (const auto* const socket = path_->socket()) return socket->memory();
    return path_->xdp()->memory();
}

std::uint64_t UdpReceiver::refresh_kernel_drops() noexcept {
    if (auto* const socket = path_->socket()) {
        const auto memory =
            detail::get_option<std::array<std::uint32_t, SK_MEMINFO_VARS>>(socket_.get(), SOL_SOCKET, SO_MEMINFO);
        socket->drops().note(memory[SK_MEMINFO_DROPS]);
    } else {
        path_->xdp()->refresh_kernel_drops();
    }
    return counters_.kernel_drops.read();
}

}  // namespace millpond::net
