#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <millpond/core/tally.hpp>

namespace millpond::feed {

/// Messages first .. first + count - 1 of a session, to be requested.
template <class Session>
struct RequestedMessages {
    Session session{};
    std::uint64_t first{0};
    std::uint64_t count{0};

    [[nodiscard]] std::uint64_t last() const noexcept { return first + count - 1; }
};

struct RerequesterOptions {
    std::uint64_t max_messages{1'000};  ///< Maximum in one request.
    std::uint64_t first_wait{0};        ///< Ticks until the second request of the same messages.
    std::uint32_t tries{8};             ///< Maximum requests without any answer.
};

/// Decides when missing messages are requested again: at once, then with pauses that double while no answer comes, up
/// to `tries` times; after an answer with a part of them it continues with the rest. A server that did not answer at
/// all is asked only once for each further gap, until it answers. It uses no socket and no clock.
///
/// Threads: one; counters may be read on any.
template <class Session>
class Rerequester {
public:
    using Options = RerequesterOptions;

    explicit Rerequester(const Options& options) noexcept : options_(options) {}

    /// The request to send now, if any. now: core::ticks().
    [[nodiscard]] std::optional<RequestedMessages<Session>> due(const Session& session, std::uint64_t first,
                                                                std::uint64_t last, std::uint64_t now) noexcept {
        if (!(session == session_) || first != first_) restart(session, first, now);
        if (first < asked_until_ && now - sent_ < wait_) return std::nullopt;
        if (tried_ == tries()) return std::nullopt;
        if (first < asked_until_) {  // no answer
            wait_ = wait_ == 0 ? options_.first_wait : 2 * wait_;
            retries_.add();
        }
        ++tried_;
        sent_ = now;
        const auto count = std::min<std::uint64_t>(last - first + 1, options_.max_messages);
        asked_until_ = first + count;
        requests_.add();
        return RequestedMessages<Session>{.session = session, .first = first, .count = count};
    }

    /// The last request has failed: no answer will come, and the next request is due at once.
    void fail() noexcept { wait_ = 0; }
    /// True if no request for these messages was answered and none is left.
    [[nodiscard]] bool exhausted(std::uint64_t now) const noexcept { return tried_ == tries() && now - sent_ >= wait_; }
    /// Gives up the exhausted gap.
    void give_up() noexcept {
        silent_ = true;
        first_ = 0;
    }

    /// Forgets the gap: what is still missing of it is a new gap.
    void forget() noexcept { first_ = 0; }

    [[nodiscard]] const core::Tally& requests() const noexcept { return requests_; }
    [[nodiscard]] const core::Tally& retries() const noexcept { return retries_; }

private:
    /// Starts the requests for a new gap, or for the rest of a gap of which a part has arrived.
    void restart(const Session& session, std::uint64_t first, std::uint64_t now) noexcept {
        // The requested messages arrive in several datagrams: the timeout restarts for the rest.
        const bool continues = session == session_ && first_ != 0 && first > first_ && first < asked_until_;
        if (continues || (session == session_ && first_ != 0 && first == asked_until_)) silent_ = false;
        if (!continues) asked_until_ = 0;
        session_ = session;
        first_ = first;
        sent_ = now;
        tried_ = 0;
        wait_ = options_.first_wait;
    }

    [[nodiscard]] std::uint32_t tries() const noexcept { return silent_ ? 1 : options_.tries; }

    Options options_;
    Session session_{};
    std::uint64_t first_{0};
    std::uint64_t asked_until_{0};
    std::uint64_t sent_{0};
    std::uint64_t wait_{0};
    std::uint32_t tried_{0};
    bool silent_{false};
    core::Tally requests_;
    core::Tally retries_;
};

}  // namespace millpond::feed
