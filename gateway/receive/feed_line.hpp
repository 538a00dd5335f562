#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
#include "gateway/receive/captured_feed.hpp"
#include "gateway/receive/feed.hpp"
#include "gateway/receive/feed_loss.hpp"
#include "gateway/receive/receiver_options.hpp"
#include "gateway/receive/sessions_apart.hpp"

namespace millpond::gateway {

inline void tell_rejected(std::span<const std::byte> bytes, std::uint16_t channel, const feed::DecodeResult& result,
                          Notices& notices) noexcept {
    notices.put({.kind = Notice::Kind::rejected, .channel = channel, .bytes = bytes.size(), .error = *result.error});
}

/// Passes datagrams to a decoder and its events to a handler; the error of a datagram becomes a notice. No virtual
/// call: the decoder is inlined into the loop over a batch.
template <class Decoder, class Handler>
void decode_batch(std::span<const net::Datagram> datagrams, std::uint16_t channel, Decoder& decoder, Handler& handler,
                  Notices& notices) {
    for (std::size_t i = 0; i < datagrams.size(); ++i) {
        const auto& datagram = datagrams[i];
        if constexpr (requires { decoder.prefetch(datagram.bytes); }) {
            if (i + 1 < datagrams.size()) decoder.prefetch(datagrams[i + 1].bytes);
        }
        const auto result = decoder.decode(
            datagram.bytes,
            {.receive_utc_ns = datagram.receive_utc_ns, .receive_ticks = datagram.receive_ticks, .channel = channel},
            handler);
        if (!result.ok()) [[unlikely]]
            tell_rejected(datagram.bytes, channel, result, notices);
    }
}

/// For formats without books that can be rebuilt.
struct NoRebuild {
    [[nodiscard]] static constexpr bool takes() noexcept { return false; }
    static void live(std::span<const std::byte>) noexcept {}
    template <class Decoder, class Handler>
    static void look(Decoder&, std::uint16_t, Handler&) noexcept {}
    template <class Decoder>
    static void beat(const Decoder&) noexcept {}
    static void set_midnight(std::int64_t) noexcept {}
    template <class Visitor>
    static void visit_counters(const Visitor&) noexcept {}
    [[nodiscard]] static Rebuilding state() { return {}; }
};

/// What a format adds to a line.
struct LineOptions {
    RerequestSettings rerequest{};  ///< Of formats whose session the Rerequester understands.
    std::optional<FeedTable> table{};
};

/// The feed of one format.
///
/// Decoder: one of millpond::feed. Rebuild: rebuilds its books beside the live ones, with the functions of
/// NoRebuild.
template <class Decoder, class Rebuild = NoRebuild>
class FeedLine final : public Feed {
public:
    /// arguments: the decoder's. Throws what net::UdpReceiver throws.
    template <class... Arguments>
    FeedLine(const FeedConfig& config, const LineOptions& options, Arguments&&... arguments)
        : Feed(config),
          channel_(*config.channel),
          table_(options.table),
          receiver_(receiver_options(config)),
          decoder_(std::forward<Arguments>(arguments)...),
          loss_({.channel = channel_,
                 .patience_ns = static_cast<std::int64_t>(config.stale_seconds) * kSecondNs,
                 .sequenced = kSequenced}) {
        if constexpr (kSequenced) {
            if (!config.line_b.empty() || !options.rerequest.rerequest.empty())
                lines_ = std::make_unique<ArbitratedLines<Decoder>>(config, options.rerequest);
        }
    }

    /// Enables rebuilding of incomplete books; before the first poll.
    void rebuild_with(std::unique_ptr<Rebuild> rebuild) noexcept { rebuild_ = std::move(rebuild); }

    std::size_t poll(Publisher& publisher, Notices& notices, Capture* capture) override {
        const auto datagrams = receiver_.poll();
        const auto sessions_before = publisher.sessions();
        const auto ends_before = publisher.session_ends();
        std::span<const net::Datagram> second;
        std::size_t answers = 0;
        if constexpr (kSequenced) {
            if (lines_) {
                const auto brought = poll_lines(datagrams, publisher, notices);
                second = brought.second;
                answers = brought.answers;
            }
        }
        if (!has_lines()) decode_batch(datagrams, channel_, decoder_, publisher, notices);
        if (rebuild_) look_at_rebuild(datagrams, publisher);
        sessions_ += publisher.sessions() - sessions_before;
        if (publisher.session_ends() != ends_before) [[unlikely]] {
            session_over_.set(publisher.sessions() == sessions_before ? 1 : 0);
            applied_at_end_ = decoder_.counters().applied.read();
        }
        // After them: no quote waits for its copy.
        if (capture != nullptr) {
            captured_.put(*capture, 0, datagrams, decoder_, sessions_);
            captured_.put(*capture, 1, second, decoder_, sessions_);
        }
        return datagrams.size() + second.size() + answers;
    }
    [[nodiscard]] bool holding() const noexcept override {
        if constexpr (kSequenced) return lines_ && lines_->holding();
        return false;
    }
    void beat(Publisher& publisher) noexcept override {
        receiver_.refresh_kernel_drops();
        if (decoder_.counters().applied.read() != applied_at_end_) session_over_.set(0);
        loss_.beat(seen(), core::monotonic_nanos(), publisher);
        heard_ns_.set(static_cast<std::uint64_t>(loss_.heard_ns()));
        if constexpr (kSequenced) {
            if (lines_) lines_->beat(decoder_.session());
        }
        if constexpr (requires { decoder_.set_midnight(std::int64_t{}); }) {
            if (const auto now = midnight(); now != std::exchange(known_midnight_, now)) {
                decoder_.set_midnight(now);
                if (rebuild_) rebuild_->set_midnight(now);
            }
        }
        if (rebuild_) rebuild_->beat(decoder_);  // attempts need the midnight
    }
    void finish(Capture& capture) noexcept override { captured_.finish(capture); }
    void set_captured_as(std::uint32_t number) override { captured_.set_first_number(number); }

    [[nodiscard]] const net::UdpReceiver& receiver() const noexcept override { return receiver_; }
    [[nodiscard]] const feed::DecodeCounters& counters() const noexcept override { return decoder_.counters(); }
    void visit_counters(const CounterVisitor& visit) const override { decoder_.visit_counters(visit); }
    void visit_line_counters(const CounterVisitor& visit) const override {
        if (rebuild_) rebuild_->visit_counters(visit);
        if constexpr (kSequenced) {
            if (lines_) lines_->visit_counters(visit);
        }
    }
    void for_each_line(const LineVisitor& visit) const override { each_line(visit); }
    void for_each_arbitrated(const ArbitratedVisitor& visit) const override {
        if constexpr (kSequenced) {
            if (!lines_ || lines_->second() == nullptr) return;
            const auto& arbiter = lines_->arbiter();
            visit("a", arbiter.counters(0), arbiter.sequence(0));
            visit("b", arbiter.counters(1), arbiter.sequence(1));
        }
    }
    [[nodiscard]] std::optional<SessionsApart> sessions_apart(std::size_t line) const override {
        if constexpr (kSequenced) {
            if (lines_) return lines_->apart(line);
        }
        return std::nullopt;
    }
    [[nodiscard]] const RequestClient* request_server() const noexcept override {
        if constexpr (kSequenced) return lines_ ? lines_->answers() : nullptr;
        return nullptr;
    }
    [[nodiscard]] std::optional<FeedTable> table() const noexcept override { return table_; }
    [[nodiscard]] std::optional<Rebuilding> rebuilding() const override {
        if (rebuild_) return rebuild_->state();
        return std::nullopt;
    }

private:
    static constexpr std::int64_t kSecondNs = 1'000'000'000;
    static constexpr bool kSequenced = feed::Sequenced<Decoder>;
    struct NoLines {};

    /// It has a line B or a re-request server.
    [[nodiscard]] bool has_lines() const noexcept {
        if constexpr (kSequenced) return lines_ != nullptr;
        return false;
    }
    template <class Visitor>
    void each_line(Visitor&& visit) const {
        visit("a", receiver_);
        if constexpr (kSequenced) {
            if (lines_ && lines_->second() != nullptr) visit("b", *lines_->second());
        }
    }

    /// Only what belongs to the feed breaks its silence.
    [[nodiscard]] FeedLoss::Seen seen() const noexcept {
        FeedLoss::Seen seen;
        each_line([&](std::string_view, const net::UdpReceiver& receiver) {
            seen.datagrams += receiver.counters().datagrams.read();
            seen.dropped += receiver.counters().kernel_drops.read() + receiver.counters().checksum_errors.read();
        });
        if constexpr (kSequenced) {
            seen.next = decoder_.sequence().next();
            seen.datagrams -= decoder_.foreign();
            if (lines_) seen.datagrams -= lines_->arbiter().strays().read();
        }
        const auto& counters = decoder_.counters();
        seen.agreed = counters.agreed.read();
        seen.over = session_over_.read() != 0;
        // Of a malformed datagram the messages before the error are applied.
        seen.datagrams += counters.applied.read() - counters.malformed.read();
        return seen;
    }

    auto poll_lines(std::span<const net::Datagram> datagrams, Publisher& publisher, Notices& notices) {
        const auto tell = [&](std::span<const std::byte> bytes, const feed::DecodeResult& result) {
            if (!result.ok()) [[unlikely]]
                tell_rejected(bytes, channel_, result, notices);
            if (rebuild_ && rebuild_->takes()) [[unlikely]]
                rebuild_->live(bytes);
        };
        feed::DecoderTarget target{decoder_, publisher, tell};
        return lines_->poll(datagrams, target, channel_);
    }

    /// datagrams: of the only line; with two lines, each was already passed on when it was decoded.
    void look_at_rebuild(std::span<const net::Datagram> datagrams, Publisher& publisher) {
        if (!rebuild_->takes()) return;
        if (!has_lines()) {
            for (const auto& datagram : datagrams) rebuild_->live(datagram.bytes);
        }
        rebuild_->look(decoder_, channel_, publisher);
    }

    std::uint16_t channel_;
    std::optional<FeedTable> table_;
    net::UdpReceiver receiver_;
    Decoder decoder_;
    FeedLoss loss_;
    std::conditional_t<kSequenced, std::unique_ptr<ArbitratedLines<Decoder>>, NoLines> lines_;
    std::unique_ptr<Rebuild> rebuild_;  // null where books are not rebuilt
    std::int64_t known_midnight_{0};
    std::uint64_t sessions_{0};        // new ones that the feed has started
    std::uint64_t applied_at_end_{0};  // messages, when the last session ended
    CapturedFeed<Decoder> captured_;
};

}  // namespace millpond::gateway
