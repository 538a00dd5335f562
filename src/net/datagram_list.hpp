#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <millpond/net/datagram.hpp>

#include "control_data.hpp"

namespace millpond::net::detail {

/// One message of the kernel: a datagram, or a train of datagrams of `control.segment` bytes each.
struct Message {
    std::span<const std::byte> bytes;
    bool cut{false};  ///< It did not fit; the length is its own nevertheless.
    ControlData control;
};

/// The datagrams of a poll, from the kernel's messages: trains are split, truncated ones are counted and left out.
class DatagramList {
public:
    DatagramList(std::size_t room, bool nic_time, ReceiveCounters& counters)
        : list_(room), nic_time_(nic_time), counters_(&counters) {}

    /// Lists the messages of `next(message)` until it returns false or the list is full. The next call continues a
    /// train that did not fit; its bytes must stay until then.
    template <class Next>
    std::span<const Datagram> fill(std::uint64_t ticks, Next&& next) noexcept {
        // Local copies until the end: for the compiler, any write to the list may change a member.
        auto* out = list_.data();
        auto* const room = out + list_.size();
        auto message = message_;
        auto at = at_;
        auto rest = in_message_;
        std::uint64_t bytes = 0;
        while (out != room) {
            if (!rest) {
                if (!next(message)) break;
                at = 0;
                if (message.cut) {
                    counters_->truncated.add();
                    counters_->longest_truncated.set(
                        std::max<std::uint64_t>(counters_->longest_truncated.read(), message.bytes.size()));
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
            } while (at != length && out != room);
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

    /// A train goes on.
    [[nodiscard]] bool in_message() const noexcept { return in_message_; }

private:
    std::vector<Datagram> list_;
    Message message_;
    std::size_t at_{0};
    bool in_message_{false};
    bool nic_time_;
    ReceiveCounters* counters_;
};

/// Room in the list of a poll for each train.
constexpr std::size_t kDatagramsPerTrain = 64;
/// The longest datagram, and the longest train.
constexpr std::size_t kLongestDatagram = 65'536;

}  // namespace millpond::net::detail
