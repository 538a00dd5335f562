#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <millpond/net/datagram.hpp>

#include "control_data.hpp"

namespace millpond::net::detail {

/// A message of the kernel: a datagram, or several coalesced ones of `control.segment` bytes each (GRO).
struct Message {
    std::span<const std::byte> bytes;
    bool cut{false};  ///< Truncated; `bytes` still has its full length.
    ControlData control;
};

/// Lists the datagrams of a poll: splits coalesced ones, and counts and skips truncated ones.
class DatagramList {
public:
    DatagramList(std::size_t capacity, bool nic_time, ReceiveCounters& counters)
        : list_(capacity), nic_time_(nic_time), counters_(&counters) {}

    /// Lists the messages of `next(message)` until it returns false or the list is full. The next call continues a
    /// message that did not fit; its bytes must stay valid until then.
    template <class Next>
    std::span<const Datagram> fill(std::uint64_t ticks, Next&& next) noexcept {
        // Local copies until the end: for the compiler, any write to the list may change a member.
        auto* out = list_.data();
        auto* const end = out + list_.size();
        auto message = message_;
        auto at = at_;
        auto rest = in_message_;
        std::uint64_t bytes = 0;
        while (out != end) {
            if (!rest) {
                if (!next(message)) break;
                at = 0;
                if (message.cut) {
                    counters_->truncated.add();
                    counters_->max_truncated.set(
                        std::max<std::uint64_t>(counters_->max_truncated.read(), message.bytes.size()));
                    continue;
                }
            }
            const auto& control = message.control;
            const auto length = message.bytes.size();
            const auto segment = control.segment == 0 ? length : control.segment;
            const auto utc = control.nic_ns != 0 ? control.nic_ns : control.kernel_ns;
            const auto* const first = out;
            do {
                const auto size = std::min(segment, length - at);
                *out++ = {message.bytes.subspan(at, size), utc, ticks};
                at += size;
                bytes += size;
            } while (at != length && out != end);
            rest = at != length;
            if (nic_time_ && control.nic_ns == 0)
                counters_->without_nic_time.add(static_cast<std::size_t>(out - first));
        }
        message_ = message;
        at_ = at;
        in_message_ = rest;
        const auto count = static_cast<std::size_t>(out - list_.data());
        counters_->datagrams.add(count);
        counters_->bytes.add(bytes);
        return {list_.data(), count};
    }

    /// Whether the latest message continues in the next call.
    [[nodiscard]] bool in_message() const noexcept { return in_message_; }

private:
    std::vector<Datagram> list_;
    Message message_;
    std::size_t at_{0};
    bool in_message_{false};
    bool nic_time_;
    ReceiveCounters* counters_;
};

/// Capacity of the list of a poll for each coalesced message.
constexpr std::size_t kDatagramsPerTrain = 64;
/// Maximum bytes of a datagram, and of a coalesced message.
constexpr std::size_t kMaxDatagram = 65'536;

}  // namespace millpond::net::detail
