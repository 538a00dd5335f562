#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/sequencing.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/receive/arbitrated_lines.hpp"
#include "gateway/receive/book_rebuild.hpp"
#include "gateway/receive/capture.hpp"
#include "gateway/receive/captured_feed.hpp"
#include "gateway/receive/feed_loss.hpp"
#include "gateway/receive/notice.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// The receiver of a feed, as its configuration asks for it. Throws std::runtime_error that names the feed.
[[nodiscard]] net::UdpReceiver::Options receiver_options(const FeedConfig& config);

inline void tell_rejected(std::span<const std::byte> bytes, std::uint16_t channel, const feed::DecodeResult& result,
                          Notices& notices) noexcept {
    notices.put({.kind = Notice::Kind::rejected, .channel = channel, .bytes = bytes.size(), .error = *result.error});
}

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
        if (!result.ok()) [[unlikely]]
            tell_rejected(datagram.bytes, channel, result, notices);
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
        : config_(config),
          receiver_(receiver_options(config)),
          decoder_(std::forward<Arguments>(arguments)...),
          loss_({.channel = *config.channel,
                 .patience_ns = static_cast<std::int64_t>(config.stale_seconds) * kSecondNs,
                 .sequenced = kSequenced}) {
        if constexpr (kSequenced) {
            if (config_.has_lines()) lines_ = std::make_unique<ArbitratedLines<Decoder>>(config_);
        }
    }

    /// Decodes what has come; how many datagrams that were. capture: where the raw datagrams are kept; null: nowhere.
    template <class Handler>
    std::size_t poll(Handler& handler, Notices& notices, Capture* capture) {
        const auto datagrams = receiver_.poll();
        const auto sessions_before = handler.sessions();
        std::span<const net::Datagram> second;
        std::size_t answers = 0;
        if constexpr (kSequenced) {
            if (lines_) {
                const auto brought = poll_lines(datagrams, handler, notices);
                second = brought.second;
                answers = brought.answers;
            }
        }
        if (!has_lines()) decode_batch(datagrams, *config_.channel, decoder_, handler, notices);
        if constexpr (kRebuilds) {
            if (rebuild_) look_at_rebuild(datagrams, handler);
        }
        sessions_ += handler.sessions() - sessions_before;
        // After them: no quote waits for its copy.
        if (capture != nullptr) {
            captured_.put(*capture, 0, datagrams, decoder_, sessions_);
            captured_.put(*capture, 1, second, decoder_, sessions_);
        }
        return datagrams.size() + second.size() + answers;
    }

    /// Nothing is polled any more.
    void finish(Capture& capture) noexcept { captured_.finish(capture); }

    /// Datagrams wait behind a hole for time to pass.
    [[nodiscard]] bool holding() const noexcept {
        if constexpr (kSequenced) return lines_ && lines_->holding();
        return false;
    }

    /// To be called a few times a second: the kernel's drop counter, losses that no number tells, and the day.
    template <class Publisher>
    void beat(Publisher& publisher) noexcept {
        receiver_.refresh_kernel_drops();
        loss_.beat(seen(), core::monotonic_nanos(), publisher);
        if constexpr (kRebuilds) {
            if (rebuild_) rebuild_->beat(decoder_);
        }
        if constexpr (kSequenced) {
            if (lines_) lines_->beat();
        }
        if constexpr (requires { decoder_.set_midnight(std::int64_t{}); }) {
            const auto midnight = midnight_utc_ns_.load(std::memory_order_relaxed);
            if (midnight == known_midnight_) return;
            known_midnight_ = midnight;
            decoder_.set_midnight(midnight);
            if constexpr (kRebuilds) {
                if (rebuild_) rebuild_->set_midnight(midnight);
            }
        }
    }

    /// When the exchange's day began; known to the decoder after the next beat.
    void set_midnight(std::int64_t utc_ns) noexcept { midnight_utc_ns_.store(utc_ns, std::memory_order_relaxed); }

    /// Has its books rebuilt while they are incomplete; before the first poll. Throws what BookRebuild throws.
    void rebuild_with(const feed::ItchRebuild::Options& books, const service::Say& say)
        requires std::is_same_v<Decoder, feed::ItchDecoder>
    {
        BookRebuild::Options options{.feed = config_.name,
                                     .history = {.path = config_.rebuild_from, .ports = {}},
                                     .server = config_.rerequest,
                                     .books = books,
                                     .buffer_bytes = config_.rebuild_buffer,
                                     .longest_ns = static_cast<std::int64_t>(config_.rebuild_seconds) * kSecondNs,
                                     .asking = rerequester_options(config_)};
        for_each_line([&](std::string_view, const net::UdpReceiver& receiver) {
            options.history.ports.push_back(receiver.report().local.port());
        });
        rebuild_ = std::make_unique<BookRebuild>(options, say);
    }
    /// Null where there is none.
    [[nodiscard]] const BookRebuild* rebuild() const noexcept {
        if constexpr (kRebuilds) return rebuild_.get();
        return nullptr;
    }

    /// Its number in the capture; line B's is the next.
    void set_captured_as(std::uint32_t number) { captured_.set_first_number(number); }

    [[nodiscard]] const FeedConfig& config() const noexcept { return config_; }
    [[nodiscard]] const net::UdpReceiver& receiver() const noexcept { return receiver_; }
    [[nodiscard]] const Decoder& decoder() const noexcept { return decoder_; }

    /// Whether a line B, or a server that is asked, stands beside its one line.
    [[nodiscard]] bool has_lines() const noexcept {
        if constexpr (kSequenced) return lines_ != nullptr;
        return false;
    }
    /// The server that is asked; null where there is none.
    [[nodiscard]] const RequestClient* request_server() const noexcept {
        if constexpr (kSequenced) return lines_ ? lines_->answers() : nullptr;
        return nullptr;
    }
    /// Calls visit(name, receiver) for what market data comes in by: line "a", and "b" where there is one.
    template <class Visitor>
    void for_each_line(Visitor&& visitor) const {
        visitor(std::string_view{"a"}, receiver_);
        if constexpr (kSequenced) {
            if (lines_ && lines_->second() != nullptr) visitor(std::string_view{"b"}, *lines_->second());
        }
    }
    /// Calls visit(name, line's counters, its sequence counters) for each line, where there are two.
    template <class Visitor>
    void for_each_arbitrated(Visitor&& visitor) const {
        if constexpr (kSequenced) {
            if (!lines_ || lines_->second() == nullptr) return;
            const auto& arbiter = lines_->arbiter();
            visitor(std::string_view{"a"}, arbiter.counters(0), arbiter.sequence(0));
            visitor(std::string_view{"b"}, arbiter.counters(1), arbiter.sequence(1));
        }
    }
    /// Datagrams of another session that nothing confirmed.
    [[nodiscard]] std::uint64_t strays() const {
        std::uint64_t strays = 0;
        const auto add = [&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == "session_strays" || name == "line_strays") strays += tally.read();
        };
        decoder_.visit_counters(add);
        visit_line_counters(add);
        return strays;
    }
    /// Calls visit(name, help, tally) for what the lines have in common, and what rebuilds books.
    template <class Visitor>
    void visit_line_counters(Visitor&& visitor) const {
        if (const auto* rebuilt = rebuild()) rebuilt->visit_counters(visitor);
        if constexpr (kSequenced) {
            if (lines_) lines_->visit_counters(visitor);
        }
    }
    /// Calls visit(fd) for every descriptor that is readable when something has come.
    template <class Visitor>
    void for_each_fd(Visitor&& visitor) const {
        for_each_line([&](std::string_view, const net::UdpReceiver& receiver) { visitor(receiver.fd()); });
        if constexpr (kSequenced) {
            if (lines_ && lines_->answers() != nullptr) visitor(lines_->answers()->fd());
        }
    }

private:
    static constexpr std::int64_t kSecondNs = 1'000'000'000;
    static constexpr bool kSequenced = feed::Sequenced<Decoder>;
    static constexpr bool kRebuilds = std::is_same_v<Decoder, feed::ItchDecoder>;
    struct NoLines {};
    struct NoRebuild {};

    [[nodiscard]] FeedLoss::Seen seen() const noexcept {
        FeedLoss::Seen seen;
        for_each_line([&](std::string_view, const net::UdpReceiver& receiver) {
            seen.datagrams += receiver.counts().datagrams.read();
            seen.dropped += receiver.counts().kernel_drops.read() + receiver.counts().checksum_errors.read();
        });
        if constexpr (kSequenced) seen.next = decoder_.sequence().next();
        seen.heartbeats = decoder_.counters().heartbeats.read();
        return seen;
    }

    template <class Handler>
    auto poll_lines(std::span<const net::Datagram> datagrams, Handler& handler, Notices& notices) {
        const auto tell = [&](std::span<const std::byte> bytes, const feed::DecodeResult& result) {
            if (!result.ok()) [[unlikely]]
                tell_rejected(bytes, *config_.channel, result, notices);
            if constexpr (kRebuilds) {
                if (rebuild_ && rebuild_->takes()) [[unlikely]]
                    rebuild_->live(bytes);
            }
        };
        feed::DecoderTarget target{decoder_, handler, tell};
        return lines_->poll(datagrams, target, *config_.channel);
    }

    /// datagrams: of the only line; where there are two, each was shown to it as it was decoded.
    template <class Handler>
    void look_at_rebuild(std::span<const net::Datagram> datagrams, Handler& handler) {
        if (!rebuild_->takes()) return;
        if (!has_lines()) {
            for (const auto& datagram : datagrams) rebuild_->live(datagram.bytes);
        }
        rebuild_->look(decoder_, *config_.channel, handler);
    }

    FeedConfig config_;
    net::UdpReceiver receiver_;
    Decoder decoder_;
    FeedLoss loss_;
    std::conditional_t<kSequenced, std::unique_ptr<ArbitratedLines<Decoder>>, NoLines> lines_;
    std::conditional_t<kRebuilds, std::unique_ptr<BookRebuild>, NoRebuild> rebuild_;
    std::atomic<std::int64_t> midnight_utc_ns_{0};
    std::int64_t known_midnight_{0};
    std::uint64_t sessions_{0};  // new ones that the feed has started
    CapturedFeed<Decoder> captured_;
};

}  // namespace millpond::gateway
