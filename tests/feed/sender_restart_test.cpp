#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/line_arbiter.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

using SentBytes = std::vector<std::byte>;
using SenderArbiter = LineArbiter<ItchDecoder>;

constexpr std::size_t kSenderStocks = 12;
constexpr std::uint64_t kStart = 100;  // time of the first datagram, which always arrives
constexpr ItchDecoder::Options kSenderBooks{.order_books = {.books = 16, .orders = 1'000, .level_chunks = 256}};

std::array<std::uint64_t, 4> sides_of(const Quote& quote) {
    return {static_cast<std::uint64_t>(quote.bid_price), static_cast<std::uint64_t>(quote.ask_price), quote.bid_size,
            quote.ask_size};
}

/// Everything that a sender sends from its start on, and the resulting quotes. All senders use one session.
struct Sender {
    Sender(std::uint64_t seed, std::size_t datagrams) {
        GeneratedFeed feed{{.format = WireFormat::itch,
                            .market = {.seed = seed, .instruments = kSenderStocks},
                            .steps_per_datagram = 3}};
        std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
        InstrumentTable table{kSenderStocks};
        ItchDecoder decoder{table, kSenderBooks};
        Recorder seen;
        while (sent.size() < datagrams) {
            const auto bytes = feed.next(buffer, static_cast<std::int64_t>(sent.size()) * 1'000'000);
            sent.emplace_back(bytes.begin(), bytes.end());
            static_cast<void>(decoder.decode(bytes, {}, seen));
        }
        for (const auto& quote : seen.quotes)
            quotes[std::string{table.symbol(quote.instrument).view()}][quote.feed_sequence] = sides_of(quote);
    }
    /// The datagram with message `first`; null if there is none.
    [[nodiscard]] const SentBytes* holding(std::uint64_t first) const {
        for (const auto& bytes : sent) {
            const auto numbers = Sequencing<ItchDecoder>::read(bytes);
            if (numbers->first <= first && first < numbers->end()) return &bytes;
        }
        return nullptr;
    }

    std::vector<SentBytes> sent;
    std::map<std::string, std::map<std::uint64_t, std::array<std::uint64_t, 4>>> quotes;
};

/// The quotes that a reader of the board sees as complete.
struct SenderBoard {
    void on(const Quote& quote) { quotes[quote.instrument] = quote; }
    void on(const Trade&) {}
    void on(const TradeBreak&) {}
    void on(const Status&) {}
    void on(const Gap&) {
        for (auto& [instrument, quote] : quotes) quote.flags |= kIncomplete;
    }
    void on(const Clear&) { quotes.clear(); }

    std::map<InstrumentId, Quote> quotes;
};

/// A feed over one or two lines and a re-request server, as in a gateway.
struct Receiver {
    void receive(std::size_t line, const SentBytes& bytes, std::uint64_t time) {
        arbiter.receive(line, bytes, {.receive_utc_ns = static_cast<std::int64_t>(time), .receive_ticks = time},
                        target);
    }
    [[nodiscard]] std::uint64_t restarts() const { return decoder.sequence().counters().restarts.read(); }

    InstrumentTable table{kSenderStocks};
    ItchDecoder decoder{table, kSenderBooks};
    SenderBoard board;
    SenderArbiter arbiter{{.held = 64}};
    static void ignore(std::span<const std::byte>, const DecodeResult&) {}
    DecoderTarget<ItchDecoder, SenderBoard, decltype(&ignore)> target{decoder, board, &ignore};
};

/// Checks that every complete quote is that of the sender's books at this message.
void expect_true(const Receiver& receiver, const Sender& sender, std::uint64_t seed) {
    const auto next = receiver.decoder.sequence().next();
    for (const auto& [instrument, quote] : receiver.board.quotes) {
        if ((quote.flags & kIncomplete) != 0) continue;
        const std::string symbol{receiver.table.symbol(instrument).view()};
        const auto& of = sender.quotes.at(symbol);
        const auto after = of.lower_bound(next);
        ASSERT_NE(after, of.begin()) << "seed " << seed << ", " << symbol << " before its first quote";
        ASSERT_EQ(sides_of(quote), std::prev(after)->second) << "seed " << seed << ", " << symbol << " before " << next;
    }
}

struct Faults {
    double drop{0};
    double duplicate{0};
    std::uint64_t max_delay{0};  // of a datagram, in number of datagrams
};

struct Arriving {
    std::uint64_t time;
    std::size_t line;
    const SentBytes* bytes;
};

/// The arrivals from two senders, one after the other.
std::vector<Arriving> network(const Sender& first, const Sender& second, std::size_t lines, const Faults& faults,
                              std::mt19937_64& random) {
    std::uniform_real_distribution<double> chance;
    std::vector<Arriving> items;
    auto time = kStart;
    for (const auto* sender : {&first, &second}) {
        for (const auto& bytes : sender->sent) {
            for (std::size_t line = 0; line < lines; ++line) {
                const auto lag = line * (random() % 4);
                for (int copies = chance(random) < faults.duplicate ? 2 : 1; copies > 0; --copies) {
                    if (time != kStart && chance(random) < faults.drop) continue;
                    items.push_back({time + lag + random() % (faults.max_delay + 1), line, &bytes});
                }
            }
            ++time;
        }
    }
    std::ranges::stable_sort(items, {}, &Arriving::time);
    return items;
}

/// A random path from two senders, the second of which may send nothing, to a receiver with one or two lines.
class RandomWay {
public:
    RandomWay(std::uint64_t seed, const Sender& first, const Sender& second)
        : random_(seed), first_(first), second_(second), has_server_(random_() % 2 == 0), window_(random_() % 30) {
        const auto lines = 1 + random_() % 2;
        const Faults faults{.drop = static_cast<double>(random_() % 4) / 100,
                            .duplicate = static_cast<double>(random_() % 3) / 100,
                            .max_delay = random_() % 3};
        items_ = network(first, second, lines, faults, random_);
    }
    void play(Receiver& receiver) {
        for (const auto& item : items_) {
            auto& arbiter = receiver.arbiter;
            while (arbiter.holding() && item.time > arbiter.since() + window_) arbiter.give_up(receiver.target);
            if (has_server_ && arbiter.holding()) ask(arbiter.gap(receiver.target).first, item.time);
            for (const auto& answer : answers_) {
                if (answer.time <= item.time) receiver.receive(answer.line, *answer.bytes, item.time);
            }
            std::erase_if(answers_, [&](const Arriving& answer) { return answer.time <= item.time; });
            receiver.receive(item.line, *item.bytes, item.time);
        }
        while (receiver.arbiter.holding()) receiver.arbiter.give_up(receiver.target);
    }

private:
    /// The server has everything that its sender has sent since its start.
    void ask(std::uint64_t first, std::uint64_t time) {
        if (first == asked_) return;
        asked_ = first;
        const auto* answer = (time < kStart + first_.sent.size() ? first_ : second_).holding(first);
        if (answer != nullptr) answers_.push_back({time + random_() % 20, SenderArbiter::kAnswers, answer});
    }

    std::mt19937_64 random_;
    const Sender& first_;
    const Sender& second_;
    bool has_server_;
    std::uint64_t window_;
    std::vector<Arriving> items_;
    std::vector<Arriving> answers_;
    std::uint64_t asked_{0};
};

TEST(SenderRestart, BehindRandomFaultsOfLinesAndServersNoWrongQuoteLooksComplete) {
    for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
        const Sender first{seed, 60 + seed % 97};
        const Sender second{seed + 1'000'000, 60 + seed % 293};
        Receiver receiver;
        RandomWay{seed, first, second}.play(receiver);
        EXPECT_GE(receiver.restarts(), 1U) << "seed " << seed;
        expect_true(receiver, second, seed);
    }
}

TEST(SenderRestart, RandomFaultsOfLinesAndServersNeverLookLikeOne) {
    const Sender none{0, 0};
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const Sender sender{seed, 400};
        Receiver receiver;
        RandomWay{seed, sender, none}.play(receiver);
        EXPECT_EQ(receiver.restarts(), 0U) << "seed " << seed;
        expect_true(receiver, sender, seed);
    }
}

}  // namespace
}  // namespace millpond::feed
