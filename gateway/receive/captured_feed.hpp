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

/// Puts what the lines of one feed bring into the capture, each line split where it begins a new session. Two sessions
/// that begin within one batch are split as one. The first datagram of an unconfirmed session (feed::ConfirmedSession)
/// is written when it is known whose it is.
///
/// Threads: the receive thread.
/// Memory:  the longest datagram a line of a feed with sequence numbers.
template <class Decoder>
class CapturedFeed {
public:
    /// Before the first put; takes the memory. first_number: line A's in the capture; line B's is the next.
    void set_first_number(std::uint32_t first_number) {
        first_number_ = first_number;
        if constexpr (feed::Sequenced<Decoder>) {
            for (auto& kept : kept_) kept.bytes.resize(feed::kMostHeldBytes);
        }
    }

    /// What a line brought, after it was decoded. sessions: how many new ones the feed has started.
    void put(Capture& capture, std::uint32_t line, std::span<const net::Datagram> datagrams, const Decoder& decoder,
             std::uint64_t sessions) noexcept {
        const bool begins = seen_[line] != sessions;
        auto& kept = kept_[line];
        const bool kept_begins = begins && kept.size != 0 && is_of_session(kept.view(), decoder);
        if (!kept_begins && (begins || !datagrams.empty())) put_kept(capture, line);
        std::size_t begin = 0;
        if (begins) [[unlikely]] {
            if (!kept_begins) begin = begin_of_session(datagrams, decoder);
            const bool is_slower = told_ == sessions;
            for (const auto& datagram : datagrams.first(begin)) put_one(capture, line, datagram, is_slower);
            if (kept_begins || begin != datagrams.size()) {
                seen_[line] = sessions;
                if (!is_slower && capture.begin_session()) told_ = sessions;
            }
            if (kept_begins) put_kept(capture, line);
        }
        auto rest = datagrams.subspan(begin);
        if (!rest.empty() && keep(kept, rest.back(), decoder)) rest = rest.first(rest.size() - 1);
        for (const auto& datagram : rest) put_one(capture, line, datagram, false);
    }
    /// No datagram comes any more.
    void finish(Capture& capture) noexcept {
        for (std::uint32_t line = 0; line < kept_.size(); ++line) put_kept(capture, line);
    }

private:
    /// The newest datagram of a line, while it is not decided whether it begins a session.
    struct Kept {
        std::size_t size{0};
        std::int64_t receive_utc_ns{0};
        std::vector<std::byte> bytes;
        [[nodiscard]] std::span<const std::byte> view() const noexcept { return std::span{bytes}.first(size); }
    };
    /// Where one datagram does not change the session: keeps the last one of another session than the decoder's.
    static bool keep(Kept& kept, const net::Datagram& last, const Decoder& decoder) noexcept {
        if constexpr (feed::Sequenced<Decoder>) {
            if (last.bytes.size() > feed::kMostHeldBytes || !feed::Sequencing<Decoder>::read(last.bytes) ||
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
    /// The first datagram of the decoder's session; the number of datagrams if there is none.
    static std::size_t begin_of_session(std::span<const net::Datagram> datagrams, const Decoder& decoder) noexcept {
        std::size_t at = 0;
        while (at < datagrams.size() && !is_of_session(datagrams[at].bytes, decoder)) ++at;
        return at;
    }

    std::uint32_t first_number_{0};
    std::uint64_t told_{0};                // sessions that the capture knows have started
    std::array<std::uint64_t, 2> seen_{};  // and that each line has reached
    std::array<Kept, 2> kept_{};
};

}  // namespace millpond::gateway
