// Counted:     the part of LineArbiter for a datagram on two lines: in order, and when one line loses every eighth
// datagram, so that seven wait until the other line fills the gap. Not counted: decoding, receiving.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/line_arbiter.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/itch_input.hpp"

namespace {

using namespace millpond;
using Arbiter = feed::LineArbiter<feed::ItchDecoder>;
using Datagrams = std::vector<std::vector<std::byte>>;

/// Follows the sequence numbers like a decoder, without decoding.
struct Follower {
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
    [[nodiscard]] const feed::moldudp64_layout::Session& session() const noexcept { return session_; }
    [[nodiscard]] static bool accepts(const feed::moldudp64_layout::Session&) noexcept { return true; }
    [[nodiscard]] static bool is_missing(std::uint64_t, std::uint64_t) noexcept { return false; }
    void decode(std::span<const std::byte> bytes, const feed::Arrival&) noexcept {
        const auto numbers = feed::Sequencing<feed::ItchDecoder>::read(bytes);
        session_ = numbers->session;
        next_ = numbers->end();
        sum += next_;
    }
    void begin_session(const feed::moldudp64_layout::Session& session, std::uint64_t, const feed::Arrival&) noexcept {
        session_ = session;
        next_ = 1;
    }
    void restart_at(std::uint64_t first, const feed::Arrival&) noexcept { next_ = first; }

    std::uint64_t sum{0};

private:
    std::uint64_t next_{0};
    feed::moldudp64_layout::Session session_{};
};

std::uint64_t in_order(const Datagrams& datagrams, Arbiter& arbiter) {
    Follower follower;
    for (const auto& datagram : datagrams) {
        for (const std::size_t line : {std::size_t{0}, std::size_t{1}}) arbiter.receive(line, datagram, {}, follower);
    }
    return follower.sum;
}

std::uint64_t with_holes(const Datagrams& datagrams, Arbiter& arbiter) {
    constexpr std::size_t kEach = 8;
    Follower follower;
    for (std::size_t i = 0; i + kEach <= datagrams.size(); i += kEach) {
        for (const std::size_t line : {std::size_t{0}, std::size_t{1}}) {
            const auto skipped = line == 0 && i != 0 ? std::size_t{1} : std::size_t{0};
            for (auto j = skipped; j < kEach; ++j) arbiter.receive(line, datagrams[i + j], {}, follower);
        }
    }
    return follower.sum;
}

}  // namespace

int main() {
    constexpr std::size_t kMessages = 12'288;
    const auto datagrams = bench::itch_datagrams(kMessages);
    std::optional<Arbiter> arbiter;
    const auto restart = [&] { arbiter.emplace(Arbiter::Options{}); };
    return bench::count_cases({{"a datagram on both lines, in order", datagrams.size(),
                                [&] { return in_order(datagrams, *arbiter); }, restart},
                               {"a datagram on both lines, one lost of eight on the first", datagrams.size(),
                                [&] { return with_holes(datagrams, *arbiter); }, restart}});
}
