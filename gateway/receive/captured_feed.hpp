#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <millpond/feed/confirmed_session.hpp>
#include <millpond/feed/sequencing.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/receive/capture.hpp"

namespace millpond::gateway {

/// Writes the datagrams of a feed's lines to the capture, and splits each line where a new session begins. Two sessions
/// that begin within one batch are split as one. The first datagram of an unconfirmed session (feed::ConfirmedSession)
/// is written once its session is known.
///
/// Threads: the receive thread.
/// Memory:  one datagram of maximum length for each line of a feed with sequence numbers.
template <class Decoder>
class CapturedFeed {
public:
    /// Sets the numbers in the capture: `first_number` for line A, the next one for line B. Allocates; call it before
    /// the first put.
    void set_first_number(std::uint32_t first_number) {
        first_number_ = first_number;
        if constexpr (feed::Sequenced<Decoder>) {
            for (auto& kept : kept_) kept.bytes.resize(feed::kMaxHeldBytes);
        }
    }

    /// Writes the datagrams that a line received, after they were decoded. sessions: new sessions of the feed so far.
    void put(Capture& capture, std::uint32_t line, std::span<const net::Datagram> datagrams, const Decoder& decoder,
             std::uint64_t sessions) noexcept {
        const bool begins = seen_[line] != sessions;
        auto& kept = kept_[line];
        const bool kept_begins = begins && kept.size != 0 && is_of_session(kept.view(), decoder);
        if (!kept_begins && (begins || !datagrams.empty())) put_kept(capture, line);
        std::size_t begin = 0;
        if (begins) [[unlikely]] {
            if (!kept_begins) begin = begin_of_session(datagrams, decoder);
            const bool is_slower = announced_sessions_ == sessions;
            for (const auto& datagram : datagrams.first(begin)) put_one(capture, line, datagram, is_slower);
            if (kept_begins || begin != datagrams.size()) {
                seen_[line] = sessions;
                if (!is_slower && capture.begin_session()) announced_sessions_ = sessions;
            }
            if (kept_begins) put_kept(capture, line);
        }
        auto rest = datagrams.subspan(begin);
        if (!rest.empty() && keep(kept, rest.back(), decoder)) rest = rest.first(rest.size() - 1);
        for (const auto& datagram : rest) put_one(capture, line, datagram, false);
    }
    /// Writes held datagrams; call it after the last put.
    void finish(Capture& capture) noexcept {
        for (std::uint32_t line = 0; line < kept_.size(); ++line) put_kept(capture, line);
    }

private:
    /// Newest datagram of a line while it is not known whether it begins a session.
    struct Kept {
        std::size_t size{0};
        std::int64_t receive_utc_ns{0};
        std::vector<std::byte> bytes;
        [[nodiscard]] std::span<const std::byte> view() const noexcept { return std::span{bytes}.first(size); }
    };
    /// Holds the last datagram if its session is not the decoder's. False if it need not be held.
    static bool keep(Kept& kept, const net::Datagram& last, const Decoder& decoder) noexcept {
        if constexpr (feed::Sequenced<Decoder>) {
            if (last.bytes.size() > feed::kMaxHeldBytes || !feed::Sequencing<Decoder>::read(last.bytes) ||
                is_of_session(last.bytes, decoder))
                return false;
            kept.size = last.bytes.size();
            kept.receive_utc_ns = last.receive_utc_ns;
            std::memcpy(kept.bytes.data(), last.bytes.data(), last.bytes.size());
            return true;
        }
        return false;
    }
    void put_kept(Capture& capture, std::uint32_t line) noexcept {
        auto& kept = kept_[line];
        if (kept.size != 0) capture.put(first_number_ + line, kept.receive_utc_ns, kept.view());
        kept.size = 0;
    }
    void put_one(Capture& capture, std::uint32_t line, const net::Datagram& datagram, bool before) noexcept {
        capture.put(first_number_ + line, datagram.receive_utc_ns, datagram.bytes, before);
    }
    static bool is_of_session(std::span<const std::byte> bytes, const Decoder& decoder) noexcept {
        if constexpr (feed::Sequenced<Decoder>) {
            const auto numbers = feed::Sequencing<Decoder>::read(bytes);
            return numbers && numbers->session == decoder.session();
        }
        return true;
    }
    /// Index of the first datagram of the decoder's session; the number of datagrams if there is none.
    static std::size_t begin_of_session(std::span<const net::Datagram> datagrams, const Decoder& decoder) noexcept {
        std::size_t at = 0;
        while (at < datagrams.size() && !is_of_session(datagrams[at].bytes, decoder)) ++at;
        return at;
    }

    std::uint32_t first_number_{0};
    std::uint64_t announced_sessions_{0};  // sessions that the capture has announced
    std::array<std::uint64_t, 2> seen_{};  // sessions that each line has reached
    std::array<Kept, 2> kept_{};
};

}  // namespace millpond::gateway
