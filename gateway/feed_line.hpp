#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <millpond/feed/event.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/capture/capture.hpp"
#include "gateway/config/config.hpp"
#include "gateway/notice.hpp"

namespace millpond::gateway {

/// The receiver of a feed, as its configuration asks for it. Throws std::runtime_error that names the feed.
[[nodiscard]] net::UdpReceiver::Options receiver_options(const FeedConfig& config);

/// Hands datagrams to a decoder and its events to a handler; the error of a datagram becomes a notice. No virtual call:
/// the loop over a batch is one with the decoder.
template <class Decoder, class Handler>
void decode_batch(std::span<const net::Datagram> datagrams, std::uint16_t channel, Decoder& decoder, Handler& handler,
                  Notices& notices) {
    for (const auto& datagram : datagrams) {
        const auto result = decoder.decode(
            datagram.bytes,
            {.receive_utc_ns = datagram.receive_utc_ns, .receive_ticks = datagram.receive_ticks, .channel = channel},
            handler);
        if (!result.ok()) [[unlikely]] {
            notices.put({.kind = Notice::Kind::rejected,
                         .channel = channel,
                         .bytes = datagram.bytes.size(),
                         .error = *result.error});
        }
    }
}

/// One feed of a receive thread: where its datagrams come in, and what reads them.
///
/// Threads: poll and beat on the receive thread; the midnight is set and counts are read on any.
template <class Decoder>
class FeedLine {
public:
    template <class... Arguments>
    explicit FeedLine(const FeedConfig& config, Arguments&&... arguments)
        : config_(config), receiver_(receiver_options(config)), decoder_(std::forward<Arguments>(arguments)...) {}

    /// Decodes what has come; how many datagrams that were. capture: where the raw datagrams are kept; null: nowhere.
    template <class Handler>
    std::size_t poll(Handler& handler, Notices& notices, Capture* capture) {
        const auto datagrams = receiver_.poll();
        decode_batch(datagrams, *config_.channel, decoder_, handler, notices);
        // After them: no quote waits for its copy.
        if (capture != nullptr) {
            for (const auto& datagram : datagrams) capture->put(captured_as_, datagram.receive_utc_ns, datagram.bytes);
        }
        return datagrams.size();
    }

    /// To be called a few times a second: the kernel's drop counter, and the day.
    void beat() noexcept {
        receiver_.refresh_kernel_drops();
        if constexpr (requires { decoder_.set_midnight(std::int64_t{}); }) {
            const auto midnight = midnight_utc_ns_.load(std::memory_order_relaxed);
            if (midnight == known_midnight_) return;
            known_midnight_ = midnight;
            decoder_.set_midnight(midnight);
        }
    }

    /// When the exchange's day began; known to the decoder after the next beat.
    void set_midnight(std::int64_t utc_ns) noexcept { midnight_utc_ns_.store(utc_ns, std::memory_order_relaxed); }

    /// Its number in the capture.
    void set_captured_as(std::uint32_t number) noexcept { captured_as_ = number; }

    [[nodiscard]] const FeedConfig& config() const noexcept { return config_; }
    [[nodiscard]] const net::UdpReceiver& receiver() const noexcept { return receiver_; }
    [[nodiscard]] const Decoder& decoder() const noexcept { return decoder_; }

private:
    FeedConfig config_;
    net::UdpReceiver receiver_;
    Decoder decoder_;
    std::atomic<std::int64_t> midnight_utc_ns_{0};
    std::int64_t known_midnight_{0};
    std::uint32_t captured_as_{0};
};

}  // namespace millpond::gateway
