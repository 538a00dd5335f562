#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/core/clock.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/rerequester.hpp>
#include <millpond/feed/sequencing.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/receive/receiver_options.hpp"
#include "gateway/receive/request_client.hpp"
#include "gateway/receive/request_stream.hpp"
#include "gateway/receive/rerequest_settings.hpp"
#include "gateway/receive/sessions_apart.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// Arbitrates lines A and B of a feed, and requests messages that no line delivered from its re-request server.
///
/// Threads: like FeedOf.
template <class Decoder>
class ArbitratedLines {
public:
    using Arbiter = feed::LineArbiter<Decoder>;
    using Format = feed::Sequencing<Decoder>;
    using Session = typename Format::Session;
    /// Whether the format has re-request servers.
    static constexpr bool kAsks = requires(feed::RequestedMessages<Session> wanted) { Format::request(wanted); };
    /// Whether they answer tests.
    static constexpr bool kTests = requires(Session session) { Format::test_request(session); };
    /// Whether they answer by TCP too.
    static constexpr bool kStreams = requires(std::span<const std::byte> bytes) { Format::segment_length(bytes); };

    ArbitratedLines(const FeedConfig& config, const RerequestSettings& rerequest)
        : arbiter_({.held = rerequest.has_server() ? kHeldForServer : kHeldForLine,
                    .from_first = rerequest.has_server() && rerequest.rerequest_start}),
          limit_(gap_limit(rerequest)),
          window_ticks_(reorder_ticks(config)),
          join_ticks_(std::max(window_ticks_, join_ticks())) {
        if (!config.line_b.empty()) second_.emplace(second_receiver_options(config));
        if (!rerequest.rerequest.empty()) {
            answers_.emplace(rerequest.rerequest, config.receive_buffer);
            asker_.emplace(rerequester_options(rerequest));
        }
        if constexpr (kStreams) {
            if (!rerequest.rerequest_tcp.empty()) {
                stream_.emplace(rerequest.rerequest_tcp, &Format::segment_length, config.receive_buffer);
                stream_asker_.emplace(stream_rerequester_options(rerequest));
            }
        }
    }

    struct Brought {
        std::span<const net::Datagram> second;  ///< Datagrams of line B; valid until the next poll.
        std::size_t answers{0};                 ///< Number of datagrams from the server.
    };
    /// Arbitrates the datagrams of line A, then those of line B and of the server.
    template <class Target>
    Brought poll(std::span<const net::Datagram> first, Target& target, std::uint16_t channel) {
        Brought brought;
        receive(0, first, target, channel);
        if (second_) {
            brought.second = second_->poll();
            receive(1, brought.second, target, channel);
        }
        if (answers_) {
            const auto datagrams = answers_->poll();
            for (const auto& datagram : datagrams) receive_answer(datagram, target, channel);
            brought.answers = datagrams.size();
        }
        if (stream_ && stream_->is_open()) {
            const auto segments = stream_->poll();
            for (const auto& segment : segments) {
                receive_segment(segment, target, channel);
                if (!stream_->is_open()) break;
            }
            brought.answers += segments.size();
            if (!stream_->is_open()) stream_asker_->fail();
        }
        check_gap(target);
        return brought;
    }

    /// Whether datagrams wait behind a gap for a timeout.
    [[nodiscard]] bool holding() const noexcept { return arbiter_.holding(); }
    /// Time for which they have been waiting; 0 if none waits.
    [[nodiscard]] std::uint64_t waiting_ticks() const noexcept {
        return arbiter_.holding() ? core::ticks() - arbiter_.since() : 0;
    }
    /// Updates re-requests and sessions; call it a few times a second. session: the decoder's. has_joined: whether it
    /// has received a session. rejoin: whether to join line B's group again.
    void beat(const Session& session, bool has_joined, bool rejoin) noexcept {
        if (answers_) answers_->beat();
        if constexpr (kTests) {
            if (answers_ && has_joined) answers_->test(Format::test_request(session), core::monotonic_nanos());
        }
        if (!second_) return;
        second_->refresh_kernel_drops();
        if (rejoin) second_->rejoin();
        for (std::size_t line = 0; line < Arbiter::kLines; ++line) {
            const bool apart = arbiter_.apart(line) >= kApart;
            apart_[line].set(
                apart ? SessionsApart{.line = Format::name_of(arbiter_.session_apart(line)),
                                      .feed = Format::name_of(session),
                                      .data = arbiter_.brings_data_apart(line) ? std::uint64_t{1} : std::uint64_t{0}}
                      : SessionsApart{});
        }
    }
    /// The sessions of a line and of the feed while they differ; on any thread.
    [[nodiscard]] std::optional<SessionsApart> apart(std::size_t line) const noexcept { return apart_[line].read(); }

    /// Receiver of line B, and client of the re-request server; null if there is none.
    [[nodiscard]] const net::UdpReceiver* second() const noexcept { return second_ ? &*second_ : nullptr; }
    [[nodiscard]] const RequestClient* answers() const noexcept { return answers_ ? &*answers_ : nullptr; }
    /// Client of the re-request server by TCP; null if there is none.
    [[nodiscard]] const RequestStream* stream() const noexcept { return stream_ ? &*stream_ : nullptr; }
    [[nodiscard]] const Arbiter& arbiter() const noexcept { return arbiter_; }

    /// Calls visit(name, help, tally) for counters that do not belong to a single line.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        visitor("holes_given_up", "Gaps of all lines that were given up.", arbiter_.given_up());
        visitor("line_strays", "Datagrams of another session that was not confirmed.", arbiter_.strays());
        if (stream_) {
            visitor("rerequest_connections", "Requests for messages that no line delivered, by TCP.",
                    stream_->connections());
            visitor("rerequest_connection_failures", "Connections for requests that were not made or broke.",
                    stream_->failures());
        }
        if (!asker_ && !stream_) return;
        const auto& got = arbiter_.counters(Arbiter::kAnswers);
        if (asker_) {
            visitor("rerequests", "Requests for messages that no line delivered.", asker_->requests());
            visitor("rerequest_retries", "Requests repeated because no answer arrived.", asker_->retries());
        }
        visitor("rerequest_timeouts", "Gaps that were given up although a server still answered.", timeouts_);
        visitor("rerequest_datagrams", "Datagrams from the re-request server.", got.datagrams);
        visitor("rerequest_used", "Datagrams from the re-request server with missing messages.", got.used);
        visitor("rerequest_refused", "Datagrams from the re-request server with messages that were not requested.",
                refused_);
        if constexpr (kTests) {
            if (answers_) visitor("rerequest_tests", "Tests whether the re-request server answers.", answers_->tests());
        }
    }

private:
    // Maximum numbers of datagrams that wait behind a gap, which the other line or the server may fill.
    static constexpr std::size_t kHeldForLine = 512;
    static constexpr std::size_t kHeldForServer = 8'192;
    static constexpr std::uint64_t kMaxByDatagram = 1'000;     // messages of a gap that are requested by UDP
    static constexpr std::uint64_t kMaxCounted = 100'000'000;  // messages of a gap that lengthen its time
    static constexpr std::uint64_t kApart =
        3;  // consecutive datagrams of another session; more than occur at the start of a session

    template <class Target>
    void receive(std::size_t line, std::span<const net::Datagram> datagrams, Target& target, std::uint16_t channel) {
        for (const auto& datagram : datagrams) receive(line, datagram, target, channel);
    }
    template <class Target>
    void receive(std::size_t line, const net::Datagram& datagram, Target& target, std::uint16_t channel) {
        arbiter_.receive(
            line, datagram.bytes,
            {.receive_utc_ns = datagram.receive_utc_ns, .receive_ticks = datagram.receive_ticks, .channel = channel},
            target);
    }
    /// Only messages that a line has shown to exist are requested: an answer cannot move the feed beyond them.
    template <class Target>
    void receive_answer(const net::Datagram& answer, Target& target, std::uint16_t channel) {
        const auto numbers = Format::read(answer.bytes);
        if (!numbers || arbiter_.has_shown(*numbers, target))
            return receive(Arbiter::kAnswers, answer, target, channel);
        if (numbers->count != 0) refused_.add();
    }
    /// Segments may be longer than what waits behind a gap: they must come in order.
    template <class Target>
    void receive_segment(const net::Datagram& segment, Target& target, std::uint16_t channel) {
        const auto numbers = Format::read(segment.bytes);
        if (numbers && numbers->first <= target.next()) return receive_answer(segment, target, channel);
        refused_.add();
        stream_->close();
    }

    template <class Target>
    void check_gap(Target& target) {
        if (stream_ && stream_->is_open()) [[unlikely]] {
            const bool is_missing = arbiter_.holding() && target.session() == by_stream_.session;
            if (!is_missing || target.next() >= by_stream_.end) stop_stream();
        }
        if (!arbiter_.holding()) return;
        const auto now = core::ticks();
        const bool joining = arbiter_.joining(target);
        if (now - arbiter_.since() < (joining ? join_ticks_ : window_ticks_)) return;
        if constexpr (kAsks) {
            if (!joining && request(arbiter_.gap(target), now)) return;
        }
        arbiter_.give_up(target);
    }
    /// Requests the messages of a gap: by TCP if they are more than a datagram may request, or if UDP brings no answer.
    /// False if there is nothing to wait for.
    [[nodiscard]] bool request(const Arbiter::MissingRange& gap, std::uint64_t now) {
        if (is_overdue(gap, now)) {
            timeouts_.add();
            if (asker_) asker_->forget();
            if (stream_) stop_stream();
            return false;
        }
        const bool continues = gap.session == by_stream_.session && gap.first < by_stream_.end;
        const bool is_large = stream_ && gap.last - gap.first >= kMaxByDatagram;
        const bool by_datagrams = asker_ && !continues && !is_large;
        if (by_datagrams) {
            if (const auto wanted = asker_->due(gap.session, gap.first, gap.last, now))
                answers_->send(Format::request(*wanted));
            if (!asker_->exhausted(now)) return true;
            asker_->give_up();
        }
        if (!stream_) return false;
        if (!continues) by_stream_ = {.session = gap.session, .end = gap.last + 1};
        if (const auto wanted = stream_asker_->due(gap.session, gap.first, gap.last, now)) {
            stream_->send(Format::request(*wanted), max_bytes(wanted->count));
            if (!stream_->is_open()) stream_asker_->fail();
        }
        if (!stream_asker_->exhausted(now)) return true;
        stream_asker_->give_up();
        stop_stream();
        return false;
    }
    void stop_stream() {
        stream_asker_->forget();
        stream_->close();
        by_stream_ = {};
    }
    /// Bytes of an answer with so many messages, however it is divided into segments.
    [[nodiscard]] static std::uint64_t max_bytes(std::uint64_t messages) noexcept {
        constexpr std::uint64_t kHeartbeats = 65'536;
        constexpr std::uint64_t kPerMessage = 1'024;
        return kHeartbeats + kPerMessage * std::min(messages, std::uint64_t{1} << 50U);
    }
    /// Whether a gap, or what is left of it, has been requested for too long, though answers bring a part of it.
    [[nodiscard]] bool is_overdue(const Arbiter::MissingRange& gap, std::uint64_t now) noexcept {
        if (!(gap.session == requested_.session) || gap.first < requested_.first || gap.first > requested_.last) {
            const auto messages = std::min(gap.last - gap.first + 1, kMaxCounted);
            requested_ = gap;
            until_ticks_ = now + limit_.ticks + messages * limit_.ticks_per_message;
        }
        return now > until_ticks_;
    }

    std::optional<net::UdpReceiver> second_;
    std::optional<RequestClient> answers_;
    std::optional<feed::Rerequester<Session>> asker_;
    std::optional<RequestStream> stream_;
    std::optional<feed::Rerequester<Session>> stream_asker_;
    /// The gap that is requested by TCP; no session's messages end at 0.
    struct {
        Session session{};
        std::uint64_t end{0};
    } by_stream_;
    Arbiter arbiter_;
    core::Tally refused_;
    core::Tally timeouts_;
    GapLimit limit_;
    Arbiter::MissingRange requested_{};  // the gap that is requested, as it was at first
    std::uint64_t until_ticks_{0};       // when it is given up
    std::array<SharedSessionsApart, Arbiter::kLines> apart_;
    std::uint64_t window_ticks_;
    std::uint64_t join_ticks_;
};

}  // namespace millpond::gateway
