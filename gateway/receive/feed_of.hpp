#pragma once

#include <algorithm>
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
#include <millpond/net/soupbin_client.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/receive/arbitrated_lines.hpp"
#include "gateway/receive/captured_feed.hpp"
#include "gateway/receive/feed.hpp"
#include "gateway/receive/feed_loss.hpp"
#include "gateway/receive/line.hpp"
#include "gateway/receive/receiver_options.hpp"
#include "gateway/receive/sessions_apart.hpp"
#include "gateway/receive/soupbin_receiver.hpp"
#include "gateway/receive/tick_clock.hpp"

namespace millpond::gateway {

inline void report_rejected(std::span<const std::byte> bytes, std::uint16_t channel, const feed::DecodeResult& result,
                            Notices& notices) noexcept {
    notices.push({.kind = Notice::Kind::rejected, .channel = channel, .bytes = bytes.size(), .error = *result.error});
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
            report_rejected(datagram.bytes, channel, result, notices);
    }
}

/// Rebuild for formats whose books cannot be rebuilt; does nothing.
struct NoRebuild {
    [[nodiscard]] static constexpr bool is_running() noexcept { return false; }
    static void on_datagram(std::span<const std::byte>) noexcept {}
    template <class Decoder, class Handler>
    static void adopt(Decoder&, std::uint16_t, Handler&) noexcept {}
    template <class Decoder, class Handler>
    static std::size_t publish_announcements(const Decoder&, std::size_t, Handler&) noexcept {
        return 0;
    }
    template <class Decoder>
    static void beat(const Decoder&) noexcept {}
    static void set_midnight(std::int64_t, bool) noexcept {}
    template <class Visitor>
    static void visit_counters(const Visitor&) noexcept {}
    [[nodiscard]] static Rebuilding state() { return {}; }
};

/// Options of a format for its feed.
struct FeedOptions {
    RerequestSettings rerequest{};  ///< Re-requests, for formats with such servers.
    std::optional<FeedTable> table{};
    /// Server to receive from instead of datagrams, for formats in MoldUDP64.
    std::optional<net::SoupBinClient::Options> server{};
};

/// A feed whose datagrams a decoder reads.
///
/// Decoder: one of millpond::feed. Rebuild: rebuilds the decoder's books in the background, with the functions of
/// NoRebuild.
template <class Decoder, class Rebuild = NoRebuild>
class FeedOf final : public Feed {
public:
    /// arguments: passed to the decoder's constructor. Throws what net::UdpReceiver throws.
    template <class... Arguments>
    FeedOf(const FeedConfig& config, const FeedOptions& options, Arguments&&... arguments)
        : Feed(config),
          channel_(*config.channel),
          table_(options.table),
          decoder_(std::forward<Arguments>(arguments)...),
          loss_({.channel = channel_,
                 .patience_ns = static_cast<std::int64_t>(config.stale_seconds) * kSecondNs,
                 .sequenced = kSequenced}) {
        if constexpr (kConnects) {
            if (options.server) connection_ = std::make_unique<SoupBinReceiver>(*options.server);
        }
        if (!connection_) receiver_.emplace(receiver_options(config));
        if constexpr (kSequenced) {
            if (!config.line_b.empty() || options.rerequest.has_server())
                lines_ = std::make_unique<ArbitratedLines<Decoder>>(config, options.rerequest);
        }
    }

    /// Enables rebuilding of incomplete books. Call it before the first poll.
    void rebuild_with(std::unique_ptr<Rebuild> rebuild) noexcept { rebuild_ = std::move(rebuild); }

    std::size_t poll(Publisher& publisher, Notices& notices, Capture* capture) override {
        const auto datagrams = connection_ ? connection_->poll() : receiver_->poll();
        const auto sessions_before = publisher.sessions();
        const auto ends_before = publisher.session_ends();
        if constexpr (kConnects) {
            if (connection_ && connection_->new_session()) [[unlikely]]
                decoder_.begin_session(*connection_->new_session(), 1, arrival_of(datagrams), publisher);
        }
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
        if constexpr (kHasBooks) {
            for (const auto received : {datagrams, second}) {
                if (!received.empty()) newest_utc_ns_ = std::max(newest_utc_ns_, received.back().receive_utc_ns);
            }
        }
        if (rebuild_) poll_rebuild(datagrams, publisher);
        sessions_ += publisher.sessions() - sessions_before;
        if (publisher.session_ends() != ends_before) [[unlikely]] {
            session_over_.set(publisher.sessions() == sessions_before ? 1 : 0);
            applied_at_end_ = decoder_.counters().applied.read();
        }
        // The copy comes last, so that no quote waits for it.
        if (capture != nullptr) {
            captured_.put(*capture, 0, datagrams, decoder_, sessions_);
            captured_.put(*capture, 1, second, decoder_, sessions_);
        }
        return datagrams.size() + second.size() + answers + publish_snapshots(publisher);
    }
    [[nodiscard]] bool holding() const noexcept override {
        if constexpr (kSequenced) return lines_ && lines_->holding();
        return false;
    }
    void beat(Publisher& publisher) noexcept override {
        ++beats_;
        if (connection_) {
            connection_->beat();
        } else {
            receiver_->refresh_kernel_drops();
            if (beats_ % kBeatsToRejoin == 0) receiver_->rejoin();
        }
        if (decoder_.counters().applied.read() != applied_at_end_) session_over_.set(0);
        note_wait(publisher.clock());
        const bool lost_nothing = loss_.beat(seen(), core::monotonic_nanos(), publisher);
        if constexpr (kHasBooks) {
            if (lost_nothing || takes_request()) decoder_.renew_snapshots();
            decoder_.books().count_incomplete();
            snapshot_budget_ = publisher.ring_capacity() / kSnapshotsOfRing;
        }
        if constexpr (requires { decoder_.expect_repeats(); }) {
            if (lost_nothing) decoder_.expect_repeats();
        }
        heard_ns_.set(static_cast<std::uint64_t>(loss_.heard_ns()));
        if constexpr (kSequenced) {
            if (lines_) lines_->beat(decoder_.session(), decoder_.sequence().next() != 0, beats_ % kBeatsToRejoin == 0);
        }
        if constexpr (requires { decoder_.set_midnight(std::int64_t{}); }) {
            if (const auto now = midnight(); now != std::exchange(known_midnight_, now)) {
                decoder_.set_midnight(now, config().date.empty());
                if (rebuild_) rebuild_->set_midnight(now, config().date.empty());
            }
        }
        if (rebuild_) rebuild_->beat(decoder_);  // attempts need the midnight
        if (publisher.has_composites() && knows_all()) publisher.set_known(channel_, kHasBooks);
    }
    void finish(Capture& capture) noexcept override { captured_.finish(capture); }
    void set_captured_as(std::uint32_t number) override { captured_.set_first_number(number); }

    [[nodiscard]] Line receiver() const noexcept override {
        return connection_ ? connection_->line() : Line{*receiver_};
    }
    [[nodiscard]] const SoupBinReceiver* connection() const noexcept override { return connection_.get(); }
    [[nodiscard]] const feed::DecodeCounters& counters() const noexcept override { return decoder_.counters(); }
    [[nodiscard]] FeedHealth health() const noexcept override {
        const auto& counters = decoder_.counters();
        FeedHealth health{.malformed = counters.malformed.read(), .rejected = counters.rejected.read()};
        if constexpr (!requires { requires Decoder::kExpectsUnknown; }) health.rejected += counters.unknown.read();
        if constexpr (kSequenced) {
            health.missing = decoder_.sequence().counters().missing.read();
            health.strays = decoder_.strays().read();
            if (lines_) health.strays += lines_->arbiter().strays().read();
        }
        if constexpr (kHasBooks) {
            health.table = {.used = decoder_.live_orders().read(),
                            .refused = decoder_.refused_orders().read(),
                            .clears = counters.clears.read()};
            health.refused_prices = decoder_.books().refused_prices().read();
            health.crossed = decoder_.books().crossed_books().read();
            if (decoder_.books().has_depth()) health.books_incomplete = decoder_.books().incomplete_books().read();
        }
        return health;
    }
    void visit_counters(const CounterVisitor& visit) const override { decoder_.visit_counters(visit); }
    void visit_line_counters(const CounterVisitor& visit) const override {
        if (connection_) connection_->client().counters().visit(visit);
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
    [[nodiscard]] const RequestStream* request_stream() const noexcept override {
        if constexpr (kSequenced) return lines_ ? lines_->stream() : nullptr;
        return nullptr;
    }
    [[nodiscard]] std::optional<FeedTable> table() const noexcept override { return table_; }
    [[nodiscard]] std::uint64_t joined_at() const noexcept override {
        if constexpr (requires { decoder_.joined_at(); }) return decoder_.joined_at().read();
        return 0;
    }
    [[nodiscard]] bool keeps_books() const noexcept override { return kHasBooks; }
    [[nodiscard]] std::optional<Rebuilding> rebuilding() const override {
        if (rebuild_) return rebuild_->state();
        return std::nullopt;
    }

private:
    static constexpr std::int64_t kSecondNs = 1'000'000'000;
    static constexpr std::uint32_t kBeatsToRejoin = 10;  // about a second
    static constexpr std::size_t kSnapshotSlice = 32;
    static constexpr std::uint64_t kAnnouncements = 3;    // of an instrument, at most
    static constexpr std::uint64_t kSnapshotsOfRing = 8;  // of each beat, so that readers of the ring keep up
    static constexpr bool kSequenced = feed::Sequenced<Decoder>;
    /// Whether the decoder reads the datagrams that a SoupBinReceiver makes.
    static constexpr bool kConnects = [] {
        if constexpr (feed::Sequenced<Decoder>)
            return std::is_same_v<typename feed::Sequencing<Decoder>::Session, SoupBinReceiver::Session>;
        return false;
    }();
    static constexpr bool kHasBooks = requires(const Decoder& decoder) { decoder.order_books(); };
    struct NoLines {};

    /// Whether it has a line B or a re-request server.
    [[nodiscard]] bool has_lines() const noexcept {
        if constexpr (kSequenced) return lines_ != nullptr;
        return false;
    }
    template <class Visitor>
    void each_line(Visitor&& visit) const {
        visit("a", receiver());
        if constexpr (kSequenced) {
            if (lines_ && lines_->second() != nullptr) visit("b", Line{*lines_->second()});
        }
    }

    [[nodiscard]] feed::Arrival arrival_of(std::span<const net::Datagram> datagrams) const noexcept {
        const auto& first = datagrams.front();
        return {.receive_utc_ns = first.receive_utc_ns, .receive_ticks = first.receive_ticks, .channel = channel_};
    }
    /// Whether instruments without a published quote have none: nothing is missing of the session, or the order books
    /// are complete again.
    [[nodiscard]] bool knows_all() const noexcept {
        if (loss_.heard_ns() == 0 || loss_.is_silent() || decoder_.counters().refused.read() != 0) return false;
        if constexpr (kHasBooks) {
            return decoder_.books().is_complete() && decoder_.books().incomplete_books().read() == 0;
        } else if constexpr (kSequenced) {
            return decoder_.sequence().has_all();
        } else {
            return false;
        }
    }
    void note_wait(const TickClock& clock) noexcept {
        if constexpr (kSequenced) {
            if (lines_) waits_ns_.set(static_cast<std::uint64_t>(clock.nanos(lines_->waiting_ticks())));
        }
    }
    /// Counts of the feed. Datagrams of other sessions and channels are subtracted: they do not end its silence.
    [[nodiscard]] FeedLoss::Seen seen() const noexcept {
        FeedLoss::Seen seen;
        each_line([&](std::string_view, const Line& line) {
            seen.datagrams += line.counters().datagrams.read();
            seen.dropped += line.counters().kernel_drops.read() + line.counters().checksum_errors.read();
        });
        if constexpr (kSequenced) {
            seen.next = decoder_.sequence().next();
            seen.datagrams -= decoder_.foreign();
            if (lines_) seen.datagrams -= lines_->arbiter().foreign();
        }
        const auto& counters = decoder_.counters();
        seen.agreed = counters.agreed.read();
        seen.over = session_over_.read() != 0;
        // A malformed datagram's messages before the error are applied, and counted here.
        seen.datagrams += counters.applied.read() - counters.malformed.read();
        return seen;
    }

    auto poll_lines(std::span<const net::Datagram> datagrams, Publisher& publisher, Notices& notices) {
        const auto on_decoded = [&](std::span<const std::byte> bytes, const feed::DecodeResult& result) {
            if (!result.ok()) [[unlikely]]
                report_rejected(bytes, channel_, result, notices);
            if (rebuild_ && rebuild_->is_running()) [[unlikely]]
                rebuild_->on_datagram(bytes);
        };
        feed::DecoderTarget target{decoder_, publisher, on_decoded};
        return lines_->poll(datagrams, target, channel_);
    }

    /// Passes datagrams to the rebuild, and the books back to the decoder. datagrams: those of a feed's only line; with
    /// two lines, each datagram was passed on when it was decoded.
    void poll_rebuild(std::span<const net::Datagram> datagrams, Publisher& publisher) {
        if (!rebuild_->is_running()) return;
        if (!has_lines()) {
            for (const auto& datagram : datagrams) rebuild_->on_datagram(datagram.bytes);
        }
        rebuild_->adopt(decoder_, channel_, publisher);
    }

    /// Whether readers need the orders of all books. A request during the publication waits for its end, because the
    /// reader may have lost books that were published before.
    [[nodiscard]] bool takes_request() noexcept {
        constexpr std::int64_t kRequestPauseNs = 10 * kSecondNs;
        if (!are_books_requested() || decoder_.has_snapshots_due()) return false;
        const auto now = core::monotonic_nanos();
        if (now < next_request_ns_) return false;
        next_request_ns_ = now + kRequestPauseNs;
        forget_request();
        return config().format.depth().orders;
    }

    /// Publishes books that are to be resent, or prepares them, a slice between the datagrams of two polls. Returns 0
    /// if there is nothing to do before the next beat.
    std::size_t publish_snapshots(Publisher& publisher) {
        if constexpr (kHasBooks) {
            if (snapshot_budget_ == 0) return 0;
            if (!decoder_.has_snapshots_due()) [[likely]]
                return publish_announcements(publisher);
            // The clock may be ahead of datagrams that wait in the socket, and times of a ring are not to go back.
            const feed::Arrival arrival{.receive_utc_ns = newest_utc_ns_, .receive_ticks = 0, .channel = channel_};
            const auto sent = decoder_.publish_snapshots(kSnapshotSlice, arrival, publisher);
            snapshot_budget_ -= std::min<std::uint64_t>(sent, snapshot_budget_);
            return std::max<std::size_t>(sent, 1);
        }
        return 0;
    }

    /// Publishes the directory and bands of rebuilt books, likewise.
    std::size_t publish_announcements(Publisher& publisher) {
        if (!rebuild_) return 0;
        const auto instruments = rebuild_->publish_announcements(decoder_, kSnapshotSlice, publisher);
        snapshot_budget_ -= std::min<std::uint64_t>(kAnnouncements * instruments, snapshot_budget_);
        return instruments;
    }

    std::uint16_t channel_;
    std::optional<FeedTable> table_;
    std::optional<net::UdpReceiver> receiver_;     // unset if there is a connection
    std::unique_ptr<SoupBinReceiver> connection_;  // null for datagrams
    Decoder decoder_;
    FeedLoss loss_;
    std::conditional_t<kSequenced, std::unique_ptr<ArbitratedLines<Decoder>>, NoLines> lines_;
    std::unique_ptr<Rebuild> rebuild_;  // null if books are not rebuilt
    std::int64_t known_midnight_{0};
    std::int64_t newest_utc_ns_{0};  // receive time of the newest datagram
    std::uint32_t beats_{0};
    std::uint64_t snapshot_budget_{0};  // snapshot events that may still be published before the next beat
    std::int64_t next_request_ns_{0};   // when the next request of books is taken
    std::uint64_t sessions_{0};         // new sessions of the feed so far
    std::uint64_t applied_at_end_{0};   // messages applied when the last session ended
    CapturedFeed<Decoder> captured_;
};

}  // namespace millpond::gateway
