// Measured:     the stages of a quote's way from the socket to shared memory, each alone between two stamps, on one
//               processor: a datagram of one quote is sent, then received, decoded, written to board and ring,
//               recorded. A figure is the mean of all samples but the greatest hundredth.
// Not measured: sending, the kernel's work before the socket's queue, the way to a subscriber.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <millpond/core/clock.hpp>
#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/market/board_layout.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/metrics/latency_histogram.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>
#include <millpond/queue/broadcast_writer.hpp>

#include "bench/feed/input.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

const core::TickRate kRate;
constexpr std::size_t kQuotes = 4096;
constexpr std::uint64_t kCapacity = 4096;
const auto kInput = bench::bbo28_datagrams(bench::wandering_quotes(kQuotes));

enum class Stage { none, receive, decode, board, publish, record, whole };

// Reads the counter after all earlier instructions and before all later ones.
std::uint64_t stamp() {
#if defined(__x86_64__)
    _mm_lfence();
    const auto now = core::ticks();
    _mm_lfence();
    return now;
#else
    return core::ticks();
#endif
}

// The gateway's receive loop in one piece, with stamps around only one stage.
template <Stage kTimed>
class Chain {
public:
    [[nodiscard]] std::uint16_t port() const { return receiver_.report().local.port(); }

    // One round; adds the latency of the timed stage, in ticks.
    std::uint64_t round() {
        if constexpr (kTimed == Stage::none) begin_ = stamp(), end_ = stamp();
        begin<Stage::whole>();
        begin<Stage::receive>();
        auto datagrams = receiver_.poll();
        end<Stage::receive>();
        for (const auto& datagram : datagrams) {
            begin<Stage::decode>();
            (void)decoder_.decode(datagram.bytes, {datagram.receive_utc_ns, datagram.receive_ticks, 0}, *this);
        }
        end<Stage::whole>();
        return end_ - begin_;
    }

    template <class Event>
    void on(const Event&) noexcept {}
    void on(const feed::Quote& quote) noexcept {
        end<Stage::decode>();
        for (; named_ < instruments_.size(); ++named_) {
            board_.name(named_, {instruments_.venue(named_), instruments_.symbol(named_)});
        }
        begin<Stage::board>();
        board_.store(quote, ring_.next());
        end<Stage::board>();
        begin<Stage::publish>();
        ring_.publish(static_cast<std::uint32_t>(feed::Quote::kKind), quote);
        end<Stage::publish>();
        begin<Stage::record>();
        const auto now = core::ticks();
        in_process_.record(kRate.nanos(now - quote.receive_ticks));
        wire_.record(utc_ns_ + kRate.nanos(now - utc_ticks_) - quote.receive_utc_ns);
        end<Stage::record>();
        answer_ += static_cast<std::uint64_t>(quote.bid_price) + quote.instrument;
    }

    [[nodiscard]] std::uint64_t answer() const { return answer_; }

private:
    template <Stage kStage>
    void begin() noexcept {
        if constexpr (kStage == kTimed) begin_ = stamp();
    }
    template <Stage kStage>
    void end() noexcept {
        if constexpr (kStage == kTimed) end_ = stamp();
    }

    net::UdpReceiver receiver_{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
    feed::InstrumentTable instruments_{bench::kInstruments};
    feed::Bbo28Decoder decoder_{instruments_, {}};
    memory::Region memory_{memory::Region::anonymous(
        market::board_offset(kCapacity) + market::board_bytes(bench::kInstruments, 1), {.prefault = true})};
    queue::BroadcastWriter ring_{queue::BroadcastWriter::create(memory_.bytes(), kCapacity, market::kMarketContent, 1)};
    market::QuoteBoardWriter board_{market::QuoteBoardWriter::create(
        memory_.bytes().subspan(market::board_offset(kCapacity)), bench::kInstruments, 1)};
    feed::InstrumentId named_{0};
    metrics::LatencyHistogram in_process_;
    metrics::LatencyHistogram wire_;
    std::int64_t utc_ns_{core::utc_nanos()};
    std::uint64_t utc_ticks_{core::ticks()};
    std::uint64_t begin_{0};
    std::uint64_t end_{0};
    std::uint64_t answer_{0};
};

template <Stage kTimed>
bench::Finding timed() {
    const auto count = kQuotes + bench::scaled(10) * kQuotes;  // the first ones warm up
    bench::run_on(bench::two_cores().first);
    const auto chain = std::make_unique<Chain<kTimed>>();
    net::UdpSender sender({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(chain->port()))});
    bench::Finding found;
    for (std::size_t i = 0; i < count; ++i) {
        bench::spin_until([&] { return sender.send(kInput[i % kQuotes]); });
        const auto nanos = static_cast<double>(chain->round()) * kRate.nanos_per_tick();
        if (i >= kQuotes) found.latencies.push_back(static_cast<float>(nanos));
    }
    found.answer = chain->answer();
    auto sorted = found.latencies;
    std::ranges::sort(sorted);
    sorted.resize(sorted.size() - sorted.size() / 100);
    found.value = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
    return found;
}

}  // namespace

int main() {
    bench::compare(
        {.question = "Where does the time of a quote go between the socket and shared memory?",
         .unit = "ns",
         .ratio_to = "whole",
         .sum = bench::Parts{.parts = {"receive", "decode", "board", "publish", "record"},
                             .whole = "whole",
                             .price = "empty pair of stamps"},
         .measured = "each stage separately between two stamps, one datagram of one quote at a time; the "
                     "receive stage stamps it too; the median column is of means without the greatest hundredth",
         .not_measured = "sending, the kernel's work before the socket's queue, the way to a subscriber"},
        {{"empty pair of stamps", timed<Stage::none>},
         {"receive", timed<Stage::receive>},
         {"decode", timed<Stage::decode>},
         {"board", timed<Stage::board>},
         {"publish", timed<Stage::publish>},
         {"record", timed<Stage::record>},
         {"whole", timed<Stage::whole>}});
}
