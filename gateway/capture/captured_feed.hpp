#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/feed/sequenced_datagram.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/capture/capture.hpp"

namespace millpond::gateway {

/// Puts what the lines of one feed bring into the capture, each line split where it begins a new session. Two sessions
/// that begin within one batch are split as one.
///
/// Threads: the receive thread.
template <class Decoder>
class CapturedFeed {
public:
    /// first_number: line A's in the capture; line B's is the next.
    void set_first_number(std::uint32_t first_number) noexcept { first_number_ = first_number; }

    /// What a line brought, after it was decoded. sessions: how many the feed has begun anew.
    void put(Capture& capture, std::uint32_t line, std::span<const net::Datagram> datagrams, const Decoder& decoder,
             std::uint64_t sessions) noexcept {
        std::size_t begin = 0;
        if (seen_[line] != sessions) [[unlikely]] {
            begin = begin_of_session(datagrams, decoder);
            const bool is_slower = told_ == sessions;
            for (const auto& datagram : datagrams.first(begin)) put_one(capture, line, datagram, is_slower);
            if (begin != datagrams.size()) {
                seen_[line] = sessions;
                if (!is_slower && capture.begin_session()) told_ = sessions;
            }
        }
        for (const auto& datagram : datagrams.subspan(begin)) put_one(capture, line, datagram, false);
    }

private:
    void put_one(Capture& capture, std::uint32_t line, const net::Datagram& datagram, bool before) noexcept {
        capture.put(first_number_ + line, datagram.receive_utc_ns, datagram.bytes, before);
    }
    /// The first datagram of the decoder's session; their count when there is none.
    static std::size_t begin_of_session(std::span<const net::Datagram> datagrams, const Decoder& decoder) noexcept {
        std::size_t at = 0;
        if constexpr (feed::Sequenced<Decoder>) {
            for (; at < datagrams.size(); ++at) {
                const auto numbers = feed::Sequencing<Decoder>::read(datagrams[at].bytes);
                if (numbers && numbers->session == decoder.session()) break;
            }
        }
        return at;
    }

    std::uint32_t first_number_{0};
    std::uint64_t told_{0};                // sessions that the capture knows to have begun
    std::array<std::uint64_t, 2> seen_{};  // and that each line has reached
};

}  // namespace millpond::gateway
