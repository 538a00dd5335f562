#pragma once

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <millpond/core/tally.hpp>

namespace millpond::net::detail {

/// Two sets of time stamps, the drop counter and the segment size, rounded up to whole cache lines.
constexpr std::size_t kControlBytes = 192;
static_assert(kControlBytes >= CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(3 * sizeof(timespec)) +
                                   CMSG_SPACE(sizeof(std::uint32_t)) + CMSG_SPACE(sizeof(int)));

/// The kernel's 32-bit counter of dropped datagrams, which wraps.
class KernelDrops {
public:
    explicit KernelDrops(core::Tally& tally) noexcept : tally_(&tally) {}

    /// Ignores an older total: a queued datagram may carry one that is older than the one from refresh_kernel_drops.
    void note(std::uint32_t kernel_total) noexcept {
        const auto fresh = static_cast<std::int32_t>(kernel_total - kernel_total_);
        if (fresh <= 0) return;
        kernel_total_ = kernel_total;
        tally_->add(static_cast<std::uint64_t>(fresh));
    }

private:
    core::Tally* tally_;
    std::uint32_t kernel_total_{0};
};

/// Control data of a datagram; zero if absent.
struct ControlData {
    std::int64_t kernel_ns{0};
    std::int64_t nic_ns{0};
    std::size_t segment{0};  ///< Bytes of each coalesced datagram.
};

/// Reads the control messages of a datagram and updates `drops`.
/// Source: cmsg(3), socket(7), udp(7), Linux Documentation/networking/timestamping.rst.
inline ControlData read_control(msghdr& header, KernelDrops& drops) noexcept {
    const auto nanos = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
    const auto copy = [](const cmsghdr* from, auto& to) { std::memcpy(&to, CMSG_DATA(from), sizeof to); };
    ControlData data;
    for (auto* control = CMSG_FIRSTHDR(&header); control != nullptr; control = CMSG_NXTHDR(&header, control)) {
        if (control->cmsg_level == SOL_UDP && control->cmsg_type == UDP_GRO) {
            int segment = 0;
            copy(control, segment);
            data.segment = static_cast<std::size_t>(segment);
        } else if (control->cmsg_level != SOL_SOCKET) {
            continue;
        } else if (control->cmsg_type == SO_TIMESTAMPNS) {
            timespec time;
            copy(control, time);
            data.kernel_ns = nanos(time);
        } else if (control->cmsg_type == SO_TIMESTAMPING) {
            std::array<timespec, 3> times;  // software, deprecated, the interface's clock
            copy(control, times);
            data.nic_ns = nanos(times[2]);
        } else if (control->cmsg_type == SO_RXQ_OVFL) {
            std::uint32_t total = 0;
            copy(control, total);
            drops.note(total);
        }
    }
    return data;
}

}  // namespace millpond::net::detail
