#pragma once

#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <xdp/xsk.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <millpond/net/socket_error.hpp>

#include "socket_option.hpp"

namespace millpond::net::detail {

/// One receive queue of an interface: an AF_XDP socket with its frames. The kernel owns all frames except those popped
/// since the last `give_back`.
///
/// Source: Linux Documentation/networking/af_xdp.rst, libxdp's xsk.h.
class XdpQueue {
public:
    static constexpr std::uint32_t kFrames = 4096;

    /// memory: kFrames frames of `frame_bytes` each; at most `max_held` are popped at a time. Waits up to 1 s for the
    /// queue of a killed process to be removed. Throws SocketError.
    XdpQueue(const std::string& interface, std::uint32_t number, std::span<std::byte> memory, std::uint32_t frame_bytes,
             bool zero_copy, std::size_t max_held)
        : memory_(memory), max_held_(max_held) {
        using namespace std::chrono_literals;
        constexpr int kTries = 50;
        held_.reserve(max_held);
        int error = open(interface, number, frame_bytes, zero_copy);
        for (int i = 0; error == EBUSY && i < kTries; ++i) {
            std::this_thread::sleep_for(20ms);
            error = open(interface, number, frame_bytes, zero_copy);
        }
        if (error != 0)
            throw SocketError(
                error, "no AF_XDP socket on queue " + std::to_string(number) + " of interface '" + interface + "'");
        std::uint32_t at = 0;
        xsk_ring_prod__reserve(&fill_, kFrames, &at);
        for (std::uint32_t i = 0; i < kFrames; ++i)
            *xsk_ring_prod__fill_addr(&fill_, at + i) = std::uint64_t{i} * frame_bytes;
        xsk_ring_prod__submit(&fill_, kFrames);
    }
    XdpQueue(const XdpQueue&) = delete;
    XdpQueue& operator=(const XdpQueue&) = delete;
    ~XdpQueue() { close(); }

    /// The next received frame; valid until `give_back`.
    std::optional<std::span<const std::byte>> pop() noexcept {
        std::uint32_t at = 0;
        if (held_.size() == max_held_ || xsk_ring_cons__peek(&received_, 1, &at) == 0) return std::nullopt;
        const auto* const frame = xsk_ring_cons__rx_desc(&received_, at);
        const std::span<const std::byte> bytes = memory_.subspan(frame->addr, frame->len);
        held_.push_back(frame->addr);
        xsk_ring_cons__release(&received_, 1);
        return bytes;
    }

    void give_back() noexcept {
        if (held_.empty()) return;
        const auto count = static_cast<std::uint32_t>(held_.size());
        std::uint32_t at = 0;
        xsk_ring_prod__reserve(&fill_, count, &at);
        for (const auto address : held_) *xsk_ring_prod__fill_addr(&fill_, at++) = address;
        xsk_ring_prod__submit(&fill_, count);
        held_.clear();
        if (xsk_ring_prod__needs_wakeup(&fill_) != 0) recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
    }

    [[nodiscard]] int fd() const noexcept { return xsk_socket__fd(socket_); }
    [[nodiscard]] xsk_socket* socket() const noexcept { return socket_; }

    /// Frames for this queue that did not fit.
    [[nodiscard]] std::uint64_t drops() const noexcept {
        const auto statistics = get_option<xdp_statistics>(fd(), SOL_XDP, XDP_STATISTICS);
        return statistics.rx_dropped + statistics.rx_ring_full;
    }

private:
    /// Opens the socket. Returns 0 or an errno.
    int open(const std::string& interface, std::uint32_t number, std::uint32_t frame_bytes, bool zero_copy) {
        xsk_umem_config frames{};
        frames.fill_size = kFrames;
        frames.comp_size = XSK_RING_CONS__DEFAULT_NUM_DESCS;
        frames.frame_size = frame_bytes;
        int result = xsk_umem__create(&frames_, memory_.data(), memory_.size(), &fill_, &completed_, &frames);
        if (result == 0) {
            xsk_socket_config config{};
            config.rx_size = XSK_RING_CONS__DEFAULT_NUM_DESCS;
            config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
            config.bind_flags = static_cast<__u16>(XDP_USE_NEED_WAKEUP | (zero_copy ? XDP_ZEROCOPY : XDP_COPY));
            result = xsk_socket__create(&socket_, interface.c_str(), number, frames_, &received_, nullptr, &config);
        }
        if (result != 0) close();
        return -result;
    }

    void close() noexcept {
        if (socket_ != nullptr) xsk_socket__delete(socket_);
        if (frames_ != nullptr) xsk_umem__delete(frames_);
        socket_ = nullptr;
        frames_ = nullptr;
    }

    std::span<std::byte> memory_;
    std::size_t max_held_;
    std::vector<std::uint64_t> held_;
    xsk_umem* frames_{nullptr};
    xsk_socket* socket_{nullptr};
    xsk_ring_prod fill_{};
    xsk_ring_cons completed_{};
    xsk_ring_cons received_{};
};

}  // namespace millpond::net::detail
