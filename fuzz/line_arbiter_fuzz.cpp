#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/line_arbiter.hpp>

#include "fuzz/fuzz_target.hpp"

namespace {

using namespace millpond::feed;
using Arbiter = LineArbiter<ItchDecoder>;

/// Checks that the messages of a session are passed on in order, whatever the lines deliver.
struct InOrder {
    void on(const Quote& quote) { see(quote.feed_sequence); }
    void on(const Trade& trade) { see(trade.feed_sequence); }
    void on(const TradeBreak& broken) { see(broken.feed_sequence); }
    void on(const Status& status) { see(status.feed_sequence); }
    void on(const Gap&) {}
    void on(const Clear&) { newest = 0; }
    void see(std::uint64_t number) {
        is_kept = is_kept && number >= newest;
        newest = number;
    }
    std::uint64_t newest{0};
    bool is_kept{true};
};

void require(bool holds, const char* promise) { require_kept(holds ? "" : promise); }

void require_account(const Arbiter& arbiter) {
    std::uint64_t came = 0;
    std::uint64_t became = arbiter.held();
    for (std::size_t line = 0; line <= Arbiter::kAnswers; ++line) {
        const auto& counters = arbiter.counters(line);
        came += counters.datagrams.read();
        became += counters.used.read() + counters.duplicates.read() + counters.late.read() + counters.others.read();
        require(counters.filled.read() <= counters.used.read(), "a datagram that fills a gap is used");
    }
    require(came == became, "every datagram is counted once");
}

}  // namespace

/// The input consists of datagrams, each after its little-endian u16 length. The first byte of each selects its source
/// (line A, line B or the server) or gives up the first gap; its upper bits advance the time.
MILLPOND_FUZZ_TARGET {
    constexpr std::size_t kHeld = 4;
    constexpr std::size_t kMaxBytes = 512;
    InstrumentTable instruments{8};
    ItchDecoder decoder{instruments, {.order_books = {.books = 6, .orders = 16, .level_chunks = 6}}};
    Arbiter arbiter{{.held = kHeld,
                     .max_bytes = kMaxBytes,
                     .from_first = !input.empty() && (input[0] & std::byte{1}) != std::byte{}}};
    InOrder handler;
    std::uint64_t now = 1;
    DecoderTarget target{decoder, handler, [](std::span<const std::byte>, const DecodeResult&) {}};
    while (input.size() > 2) {
        const std::size_t wanted = millpond::core::load_le<std::uint16_t>(input.data());
        const auto piece = input.subspan(2, std::min(wanted, input.size() - 2));
        input = input.subspan(2 + piece.size());
        if (piece.empty()) continue;
        const auto what = std::to_integer<unsigned>(piece[0]);
        now += what >> 2U;
        if (const auto line = what & 3U; line <= Arbiter::kAnswers) {
            // A copy of exactly its size, so that a read outside is detected.
            const auto bytes = piece.subspan(1);
            const std::unique_ptr<std::byte[]> copy{new std::byte[bytes.size()]};
            std::copy(bytes.begin(), bytes.end(), copy.get());
            arbiter.receive(line, {copy.get(), bytes.size()}, {.receive_ticks = now}, target);
        } else if (arbiter.holding()) {
            arbiter.give_up(target);
        }
        require_account(arbiter);
        require(handler.is_kept, "messages are handed on in order");
        require(arbiter.held() <= kHeld + Arbiter::kLines, "no more are held than the capacity");
        if (!arbiter.holding() || arbiter.joining(target)) continue;
        const auto gap = arbiter.gap(target);
        require(gap.session == decoder.session() && gap.first <= gap.last, "datagrams wait only after a gap");
        require(arbiter.since() <= now, "a gap is not older than the newest datagram");
    }
    while (arbiter.holding()) arbiter.give_up(target);
    require_account(arbiter);
    require(
        decoder.sequence().counters().gaps.read() <= arbiter.given_up().read() + decoder.counters().malformed.read(),
        "the decoder sees a gap only if it was given up, or after an incomplete datagram");
}
