#include "xdp_path.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/net/udp_packet.hpp>

#include "datagram_list.hpp"
#include "interface.hpp"
#include "redirect_program.hpp"
#include "udp_socket.hpp"
#include "xdp_queue.hpp"

namespace millpond::net::detail {
namespace {

/// Headroom that the kernel keeps before a frame, and the headers before the IP payload.
constexpr std::uint32_t kFrontRoom = 256;
constexpr std::uint32_t kLinkHeader = 18;

ifreq request_for(const std::string& interface) {
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    return request;
}

/// Size of a frame's buffer, 2,048 or 4,096: the smaller one that holds a frame of the interface.
std::uint32_t frame_bytes(const std::string& interface) {
    auto request = request_for(interface);
    const core::Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (ioctl(socket.get(), SIOCGIFMTU, &request) != 0)
        throw SocketError(errno, "cannot read the MTU of interface '" + interface + '\'');
    const auto longest = static_cast<std::uint32_t>(request.ifr_mtu) + kLinkHeader + kFrontRoom;
    for (const std::uint32_t bytes : {2048U, 4096U})
        if (longest <= bytes) return bytes;
    throw SocketError(EMSGSIZE, "AF_XDP supports frames of up to 3822 bytes, interface '" + interface +
                                    "' has an MTU of " + std::to_string(request.ifr_mtu));
}

std::uint32_t receive_queues(const std::string& interface) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    auto request = request_for(interface);
    request.ifr_data = reinterpret_cast<char*>(&channels);
    const core::Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (ioctl(socket.get(), SIOCETHTOOL, &request) != 0) return 1;
    return std::max(1U, channels.rx_count + channels.combined_count);
}

}  // namespace

class XdpPath::Queues {
public:
    Queues(const ReceiveOptions& options, ReceiveReport& report, ReceiveCounters& counters)
        : max_datagram_(options.max_datagram),
          verifies_(options.checksum == Checksum::verify),
          list_(options.batch, false, counters),
          counters_(&counters),
          wait_(epoll_create1(EPOLL_CLOEXEC)) {
        const auto& interface = options.interface;
        if (interface.empty()) throw SocketError(EINVAL, "AF_XDP needs the interface's name");
        if (options.local.family() != SocketAddress::Family::ipv4)
            throw SocketError(EAFNOSUPPORT, "AF_XDP reads IPv4 here");
        const auto index = interface_index(interface);
        const auto bytes = frame_bytes(interface);
        const auto count = receive_queues(interface);
        const auto queue_bytes = std::size_t{XdpQueue::kFrames} * bytes;
        memory_ = memory::Region::anonymous(count * queue_bytes, options.memory);

        const auto open = [&](bool zero_copy) {
            queues_.clear();
            for (std::uint32_t i = 0; i < count; ++i)
                queues_.push_back(std::make_unique<XdpQueue>(interface, i,
                                                             memory_.bytes().subspan(i * queue_bytes, queue_bytes),
                                                             bytes, zero_copy, 2 * options.batch));
        };
        report.zero_copy = fulfil(options.zero_copy, "zero copy", report, [&]() -> std::string {
            try {
                open(true);
                return {};
            } catch (const SocketError& error) {
                if (error.code().value() == EBUSY) throw;
                return error.what();
            }
        });
        if (!report.zero_copy) open(false);
        report.queues = count;

        RedirectProgram program({.to = report.local, .source = options.source, .vlan = options.vlan}, count);
        for (const auto& queue : queues_) {
            if (const int error = xsk_socket__update_xskmap(queue->socket(), program.sockets()); error != 0)
                throw SocketError(-error, "cannot enter an AF_XDP socket into its map");
            epoll_event event{.events = EPOLLIN, .data = {}};
            epoll_ctl(wait_.get(), EPOLL_CTL_ADD, queue->fd(), &event);
        }
        program.attach(interface, index);
        program_.emplace(std::move(program));
    }

    std::span<const Datagram> poll() noexcept {
        for (const auto& queue : queues_) queue->give_back();
        now_ = 0;
        return list_.fill(core::ticks(), [this](Message& message) { return next(message); });
    }

    [[nodiscard]] int fd() const noexcept { return queues_.size() == 1 ? queues_.front()->fd() : wait_.get(); }
    [[nodiscard]] const memory::Region& memory() const noexcept { return memory_; }

    void refresh_kernel_drops() noexcept {
        std::uint64_t total = 0;
        for (const auto& queue : queues_) total += queue->drops();
        counters_->kernel_drops.set(total);
        counters_->other_vlan.set(program_->other_vlan());
    }

private:
    /// Continues with the queue that had the latest frame, then with the others in turn.
    bool next(Message& message) noexcept {
        for (std::size_t idle = 0; idle < queues_.size();) {
            const auto frame = queues_[at_]->pop();
            if (!frame) {
                ++idle;
                at_ = at_ + 1 == queues_.size() ? 0 : at_ + 1;
                continue;
            }
            const auto packet = find_udp(LinkType::ethernet, *frame);
            if (!packet) {
                counters_->errors.add();
                counters_->last_error.set(EBADMSG);
                continue;
            }
            if (verifies_ && !ipv4_checksums_match(*packet)) {
                counters_->checksum_errors.add();
                continue;
            }
            if (now_ == 0) now_ = core::utc_nanos();
            message.bytes = packet->payload;
            message.cut = packet->payload.size() > max_datagram_;
            message.control.kernel_ns = now_;
            return true;
        }
        return false;
    }

    std::size_t max_datagram_;
    bool verifies_;
    memory::Region memory_;  // the frames of all queues
    std::vector<std::unique_ptr<XdpQueue>> queues_;
    DatagramList list_;
    ReceiveCounters* counters_;
    core::Descriptor wait_;
    std::optional<RedirectProgram> program_;
    std::size_t at_{0};
    std::int64_t now_{0};
};

XdpPath::XdpPath(const ReceiveOptions& options, ReceiveReport& report, ReceiveCounters& counters)
    : queues_(std::make_unique<Queues>(options, report, counters)) {}

XdpPath::~XdpPath() = default;

std::span<const Datagram> XdpPath::poll() noexcept { return queues_->poll(); }
int XdpPath::fd() const noexcept { return queues_->fd(); }
const memory::Region& XdpPath::memory() const noexcept { return queues_->memory(); }
void XdpPath::refresh_kernel_drops() noexcept { queues_->refresh_kernel_drops(); }

}  // namespace millpond::net::detail
