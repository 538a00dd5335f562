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
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/rerequester.hpp>
#include <millpond/feed/sequencing.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/receive/receiver_options.hpp"
#include "gateway/receive/request_client.hpp"
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
    /// Whether the Rerequester can request messages of such sessions.
    static constexpr bool kAsks = requires(feed::Rerequester& asker, Session session) {
        asker.due(session, std::uint64_t{}, std::uint64_t{}, std::uint64_t{});
    };

    ArbitratedLines(const FeedConfig& config, const RerequestSettings& rerequest)
        : arbiter_({.held = rerequest.rerequest.empty() ? kHeldForLine : kHeldForServer,
                    .from_first = !rerequest.rerequest.empty() && rerequest.rerequest_start}),
          window_ticks_(reorder_ticks(config)),
          join_ticks_(std::max(window_ticks_, join_ticks())) {
        if (!config.line_b.empty()) second_.emplace(second_receiver_options(config));
        if (rerequest.rerequest.empty()) return;
        answers_.emplace(rerequest.rerequest, config.receive_buffer);
        asker_.emplace(rerequester_options(rerequest));
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
            receive(Arbiter::kAnswers, datagrams, target, channel);
            brought.answers = datagrams.size();
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
    /// Updates re-requests and sessions; call it a few times a second. session: the decoder's. rejoin: whether to join
    /// line B's group again.
    void beat(const Session& session, bool rejoin) noexcept {
        if (answers_) answers_->beat();
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
    [[nodiscard]] const Arbiter& arbiter() const noexcept { return arbiter_; }

    /// Calls visit(name, help, tally) for counters that do not belong to a single line.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        visitor("holes_given_up", "Gaps of all lines that were given up.", arbiter_.given_up());
        visitor("line_strays", "Datagrams of another session that was not confirmed.", arbiter_.strays());
        if (!asker_) return;
        const auto& got = arbiter_.counters(Arbiter::kAnswers);
        visitor("rerequests", "Requests for messages that no line delivered.", asker_->requests());
        visitor("rerequest_retries", "Requests repeated because no answer arrived.", asker_->retries());
        visitor("rerequest_datagrams", "Datagrams from the re-request server.", got.datagrams);
        visitor("rerequest_used", "Datagrams from the re-request server with missing messages.", got.used);
    }

private:
    // Maximum numbers of datagrams that wait behind a gap, which the other line or the server may fill.
    static constexpr std::size_t kHeldForLine = 512;
    static constexpr std::size_t kHeldForServer = 8'192;
    static constexpr std::uint64_t kApart =
        3;  // consecutive datagrams of another session; more than occur at the start of a session

    template <class Target>
    void receive(std::size_t line, std::span<const net::Datagram> datagrams, Target& target, std::uint16_t channel) {
        for (const auto& datagram : datagrams) {
            arbiter_.receive(line, datagram.bytes,
                             {.receive_utc_ns = datagram.receive_utc_ns,
                              .receive_ticks = datagram.receive_ticks,
                              .channel = channel},
                             target);
        }
    }

    template <class Target>
    void check_gap(Target& target) {
        if (!arbiter_.holding()) return;
        const auto now = core::ticks();
        const bool joining = arbiter_.joining(target);
        if (now - arbiter_.since() < (joining ? join_ticks_ : window_ticks_)) return;
        if constexpr (kAsks) {
            if (asker_ && !joining) {
                const auto gap = arbiter_.gap(target);
                if (const auto request = asker_->due(gap.session, gap.first, gap.last, now)) answers_->send(*request);
                if (!asker_->exhausted(now)) return;
                asker_->give_up();
            }
        }
        arbiter_.give_up(target);
    }

    std::optional<net::UdpReceiver> second_;
    std::optional<RequestClient> answers_;
    std::optional<feed::Rerequester> asker_;
    Arbiter arbiter_;
    std::array<SharedSessionsApart, Arbiter::kLines> apart_;
    std::uint64_t window_ticks_;
    std::uint64_t join_ticks_;
};

}  // namespace millpond::gateway
