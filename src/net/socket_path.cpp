#include "socket_path.hpp"

#include <algorithm>
#include <cerrno>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/clock.hpp>

namespace millpond::net::detail {

SocketPath::SocketPath(int socket, const ReceiveOptions& options, const ReceiveReport& report,
                       ReceiveCounters& counters)
    : socket_(socket),
      batch_(options.batch),
      vectors_(batch_),
      messages_(batch_),
      list_(report.gro ? batch_ * kDatagramsPerTrain : batch_, report.nic_time, counters),
      counters_(&counters),
      drops_(counters.kernel_drops) {
    const auto longest = report.gro ? kMaxDatagram : options.max_datagram;
    const auto stride = (longest + core::kCacheLine - 1) / core::kCacheLine * core::kCacheLine;
    memory_ = memory::Region::anonymous(batch_ * (stride + kControlBytes), options.memory);
    auto* const controls = memory_.data() + batch_ * stride;
    for (std::size_t i = 0; i < batch_; ++i) {
        vectors_[i] = {memory_.data() + i * stride, longest};
        auto& header = messages_[i].msg_hdr;
        header.msg_iov = &vectors_[i];
        header.msg_iovlen = 1;
        header.msg_control = controls + i * kControlBytes;
        header.msg_controllen = kControlBytes;
    }
}

std::span<const Datagram> SocketPath::poll() noexcept {
    if (!list_.in_message() && listed_ == received_ && !receive()) return {};
    return list_.fill(ticks_, [this](Message& message) { return next(message); });
}

bool SocketPath::receive() noexcept {
    listed_ = 0;
    received_ = 0;
    // MSG_TRUNC: for a datagram that does not fit, the length is its full length, not that of the buffer.
    constexpr int kFlags = MSG_DONTWAIT | MSG_TRUNC;
    int count = 0;
    if (requested_ == 1) {
        const auto length = recvmsg(socket_, &messages_[0].msg_hdr, kFlags);
        messages_[0].msg_len = static_cast<unsigned>(length);
        count = length < 0 ? -1 : 1;
    } else {
        count = recvmmsg(socket_, messages_.data(), static_cast<unsigned>(requested_), kFlags, nullptr);
    }
    ticks_ = core::ticks();
    if (count < 0) {
        requested_ = 1;
        if (errno != EAGAIN && errno != EINTR) {
            counters_->errors.add();
            counters_->last_error.set(static_cast<std::uint64_t>(errno));
        }
        return false;
    }
    received_ = static_cast<std::size_t>(count);
    requested_ = received_ == requested_ ? std::min(2 * requested_, batch_) : 1;
    return true;
}

bool SocketPath::next(Message& message) noexcept {
    if (listed_ == received_) return false;
    auto& [header, length] = messages_[listed_];
    message.bytes = {static_cast<const std::byte*>(vectors_[listed_].iov_base), length};
    message.cut = (header.msg_flags & MSG_TRUNC) != 0;
    message.control = read_control(header, drops_);
    if (message.control.segment != 0 && message.control.segment < length)
        requested_ = 1;  // coalesced datagrams are a whole batch
    header.msg_controllen = kControlBytes;
    ++listed_;
    return true;
}

}  // namespace millpond::net::detail
