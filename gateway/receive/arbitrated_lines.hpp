#pragma once

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

/// What a feed has beyond its one line: line B, and the server that is asked for what no line brought.
///
/// Threads: as FeedLine.
template <class Decoder>
class ArbitratedLines {
public:
    using Arbiter = feed::LineArbiter<Decoder>;
    using Format = feed::Sequencing<Decoder>;
    using Session = typename Format::Session;
    /// The Rerequester can name its sessions.
    static constexpr bool kAsks = requires(feed::Rerequester& asker, Session session) {
        asker.due(session, std::uint64_t{}, std::uint64_t{}, std::uint64_t{});
    };

    ArbitratedLines(const FeedConfig& config, const RerequestSettings& rerequest)
        : arbiter_({.held = config.reorder_datagrams,
                    .from_first = !rerequest.rerequest.empty() && rerequest.rerequest_start}),
          window_ticks_(reorder_ticks(config)) {
        if (!config.line_b.empty()) second_.emplace(second_receiver_options(config));
        if (rerequest.rerequest.empty()) return;
        answers_.emplace(rerequest.rerequest, config.receive_buffer);
        asker_.emplace(rerequester_options(rerequest));
    }

    struct Brought {
        std::span<const net::Datagram> second;  ///< By line B; valid until the next poll.
        std::size_t answers{0};                 ///< Datagrams by the server.
    };
    /// Takes what line A brought, then what line B and the server did.
    template <class Target>
    Brought poll(std::span<const net::Datagram> first, Target& target, std::uint16_t channel) {
        Brought brought;
        take(0, first, target, channel);
        if (second_) {
            brought.second = second_->poll();
            take(1, brought.second, target, channel);
        }
        if (answers_) {
            const auto datagrams = answers_->poll();
            take(Arbiter::kAnswers, datagrams, target, channel);
            brought.answers = datagrams.size();
        }
        look_at_hole(target);
        return brought;
    }

    /// Something waits for time to pass.
    [[nodiscard]] bool holding() const noexcept { return arbiter_.holding(); }
    /// session: the decoder's.
    void beat(const Session& session) noexcept {
        if (answers_) answers_->beat();
        if (!second_) return;
        second_->refresh_kernel_drops();
        for (std::size_t line = 0; line < Arbiter::kLines; ++line) {
            const bool apart = arbiter_.apart(line) >= kApart;
            apart_[line].set(
                apart ? SessionsApart{Format::name_of(arbiter_.session_apart(line)), Format::name_of(session)}
                      : SessionsApart{});
        }
    }
    /// Of a line that brings another session than the feed's; on any thread.
    [[nodiscard]] std::optional<SessionsApart> apart(std::size_t line) const noexcept { return apart_[line].read(); }

    /// Null when there is no line B, or no server.
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
    static constexpr std::uint64_t kApart = 3;  // datagrams: more than the begin of a session holds

    template <class Target>
    void take(std::size_t line, std::span<const net::Datagram> datagrams, Target& target, std::uint16_t channel) {
        for (const auto& datagram : datagrams) {
            arbiter_.take(line, datagram.bytes,
                          {.receive_utc_ns = datagram.receive_utc_ns,
                           .receive_ticks = datagram.receive_ticks,
                           .channel = channel},
                          target);
        }
    }

    template <class Target>
    void look_at_hole(Target& target) {
        if (!arbiter_.holding()) return;
        const auto now = core::ticks();
        if (now - arbiter_.since() < window_ticks_) return;
        if constexpr (kAsks) {
            if (asker_) {
                const auto hole = arbiter_.hole(target);
                if (const auto request = asker_->due(hole.session, hole.first, hole.last, now))
                    answers_->send(*request);
                if (!asker_->hopeless(now)) return;
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
};

}  // namespace millpond::gateway
