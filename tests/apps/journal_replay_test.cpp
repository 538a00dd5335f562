// Replays of a journal with `millpond replay`: quotes on the wire, every event in a ring.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_writer.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "apps/millpond/traffic/journal_source.hpp"
#include "tests/apps/datagrams.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kBegin = 1'700'000'000'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSegmentBytes = 1U << 20U;

using Event = std::variant<feed::Quote, feed::Trade, feed::TradeBreak, feed::Status, feed::Gap, feed::Clear>;

/// The n-th event of the tests' journals; mostly quotes, four in each millisecond.
Event event_of(std::uint64_t n) {
    const auto time = kBegin + static_cast<std::int64_t>(n / 4) * kMillisecond;
    if (n % 50 == 17) {
        feed::Trade trade;
        trade.instrument = static_cast<feed::InstrumentId>(n % 3);
        trade.price = static_cast<feed::Price>(n);
        trade.size = 5;
        trade.trade_id = n;
        trade.receive_utc_ns = time;
        return trade;
    }
    if (n % 500 == 250) {
        feed::Clear clear;
        clear.receive_utc_ns = time;
        return clear;
    }
    feed::Quote quote;
    quote.instrument = static_cast<feed::InstrumentId>(n % 3);
    quote.channel = static_cast<std::uint16_t>(n % 2);
    quote.flags = n % 7 == 0 ? feed::kIncomplete : 0;
    quote.bid_price = static_cast<feed::Price>(1'000 + n);
    quote.ask_price = static_cast<feed::Price>(1'002 + n);
    quote.bid_size = n + 1;
    quote.ask_size = n + 2;
    quote.exchange_utc_ns = time - 1'000;
    quote.receive_utc_ns = time;
    quote.receive_ticks = n;
    quote.feed_sequence = n;
    return quote;
}

/// Collects events without the time stamps that a replay replaces.
struct Kept {
    void on(feed::Quote quote) { keep(quote); }
    void on(feed::Trade trade) { keep(trade); }
    void on(feed::TradeBreak broken) { keep(broken); }
    void on(feed::Status status) { keep(status); }
    void on(feed::Gap gap) { keep(gap); }
    void on(feed::Clear clear) { keep(clear); }
    void on(const queue::MissedRange& range) { missed += range.last - range.first + 1; }
    template <class Some>
    void keep(Some event) {
        event.receive_ticks = 0;
        events.emplace_back(event);
    }
    std::vector<Event> events;
    std::uint64_t missed{0};
};

bool same(const Event& a, const Event& b) {
    return a.index() == b.index() && std::visit(
                                         [&](const auto& left) {
                                             const auto& right = std::get<std::decay_t<decltype(left)>>(b);
                                             return std::memcmp(&left, &right, sizeof left) == 0;
                                         },
                                         a);
}

class JournalReplay : public ::testing::Test {
protected:
    JournalReplay() { std::filesystem::remove_all(folder_); }
    ~JournalReplay() override { std::filesystem::remove_all(folder_); }

    static market::Instrument name_of(feed::InstrumentId id) {
        return {feed::Venue{"XTST"}, feed::Symbol{"SYM" + std::to_string(id)}};
    }

    /// Writes events 0..count-1. lost: ring numbers that are lost before event `lost_at`.
    void write(std::uint64_t count, std::uint64_t lost_at = 0, std::uint64_t lost = 0) const {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = kSegmentBytes, .sync = journal::Sync::none}, kBegin};
        writer.set_epoch(7);
        for (feed::InstrumentId id = 0; id < 3; ++id) writer.name(id, name_of(id));
        std::uint64_t ring = 1;
        for (std::uint64_t n = 0; n < count; ++n) {
            if (lost != 0 && n == lost_at) {
                ASSERT_TRUE(writer.append_lost({.first = ring, .last = ring + lost - 1}));
                ring += lost;
            }
            std::visit(
                [&](const auto& event) {
                    while (!writer.append(event, ring)) ASSERT_TRUE(writer.service(kBegin));
                },
                event_of(n));
            ++ring;
        }
    }

    std::string folder_{::testing::TempDir() + "millpond_replayed_" + std::to_string(getpid())};
};

/// Decoded datagrams of the replay.
struct Wire {
    explicit Wire(const std::vector<std::string>& datagrams) {
        for (const auto& datagram : datagrams) {
            const auto result = decoder.decode(std::as_bytes(std::span{datagram}), {}, kept);
            EXPECT_TRUE(result.ok());
        }
    }
    feed::InstrumentTable instruments{16};
    feed::QuotesDecoder decoder{instruments, {}};
    Kept kept;
};

TEST_F(JournalReplay, TheQuotesOnTheWireAreThoseRecordedWithLossesAndClearsInTheSamePlaces) {
    constexpr std::uint64_t kEvents = 20'000;  // several segments
    write(kEvents, 9'000, 11);
    net::UdpReceiver receiver{{.local = net::SocketAddress::parse("127.0.0.1:0"), .receive_buffer = 64U << 20U}};
    Program program{{"replay", folder_, "--to", receiver.report().local.to_string(), "--speed", "50", "--quiet"}};
    std::vector<feed::Quote> expected;
    std::map<feed::InstrumentId, feed::Quote> newest;
    std::size_t again = 0;
    for (std::uint64_t n = 0; n < kEvents; ++n) {
        const auto event = event_of(n);
        if (const auto* quote = std::get_if<feed::Quote>(&event)) {
            expected.push_back(newest[quote->instrument] = *quote);
        } else if (std::holds_alternative<feed::Clear>(event)) {
            std::erase_if(newest, [](const auto& known) { return known.second.channel == 0; });
            for (const auto& [id, quote] : newest) expected.push_back(quote);
            again += newest.size();
        }
    }
    std::size_t datagrams = 0;
    traffic::JournalSource source{folder_, {}};
    for (traffic::Outgoing out; source.next(out);) ++datagrams;
    // Quotes of a millisecond share a datagram, unless a loss or a clear is between them.
    EXPECT_LT(datagrams, kEvents / 3);
    const Wire wire{receive(receiver, datagrams)};
    const auto outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(std::to_string(expected.size() - again) +
                                       " quotes, 0 gaps; not sent: 400 other events; 11 were "
                                       "lost before it"));
    std::size_t quotes = 0;
    std::size_t clears = 0;
    for (const auto& event : wire.kept.events) {
        clears += std::holds_alternative<feed::Clear>(event) ? 1U : 0U;
        const auto* gap = std::get_if<feed::Gap>(&event);
        if (gap != nullptr) {
            EXPECT_EQ(gap->last - gap->first + 1, 11U);
        }
        const auto* quote = std::get_if<feed::Quote>(&event);
        if (quote == nullptr) continue;
        ASSERT_LT(quotes, expected.size());
        const auto& recorded = expected[quotes++];
        ASSERT_EQ(wire.instruments.symbol(quote->instrument), name_of(recorded.instrument).symbol);
        ASSERT_EQ(wire.instruments.venue(quote->instrument), name_of(recorded.instrument).venue);
        ASSERT_EQ(quote->bid_price, recorded.bid_price);
        ASSERT_EQ(quote->ask_price, recorded.ask_price);
        ASSERT_EQ(quote->bid_size, recorded.bid_size);
        ASSERT_EQ(quote->ask_size, recorded.ask_size);
        ASSERT_EQ(quote->flags, recorded.flags);
        ASSERT_EQ(quote->exchange_utc_ns, recorded.exchange_utc_ns);
    }
    EXPECT_EQ(quotes, expected.size());
    EXPECT_EQ(clears, kEvents / 500);
    EXPECT_EQ(wire.decoder.counters().gaps.read(), 1U);
}

TEST_F(JournalReplay, ARingGetsEveryEventAsItWasRecordedAndNoReaderIsLeftBehind) {
    constexpr std::uint64_t kEvents = 20'000;
    write(kEvents);
    const auto ring = unique_ring("replayed");
    // The ring holds a fiftieth of the events: the replay would lap readers that it does not wait for.
    Program program{{"replay", folder_, "--ring", ring, "--readers", "1", "--capacity", "256", "--speed", "max"}};
    ASSERT_TRUE(program.prints("waiting for 1 readers"));
    market::RingReader reader{{.name = ring, .visible_as = "test"}};
    Kept kept;
    for (bool closed = false; !closed;) {
        closed = reader.writer_state() == market::WriterState::closed;
        while (reader.poll(kept, 64) != 0) {
        }
    }
    EXPECT_EQ(program.wait().exit_code, 0);
    EXPECT_EQ(kept.missed, 0U);
    ASSERT_EQ(kept.events.size(), kEvents);
    for (std::uint64_t n = 0; n < kEvents; ++n) {
        Kept recorded;
        std::visit([&](const auto& event) { recorded.on(event); }, event_of(n));
        ASSERT_TRUE(same(kept.events[n], recorded.events[0])) << "event " << n;
    }
    for (feed::InstrumentId id = 0; id < 3; ++id) EXPECT_EQ(reader.instrument(id)->symbol, name_of(id).symbol);
}

TEST_F(JournalReplay, ARingGetsTheDepthOfTheChannelsSoThatItsReadersHaveBooks) {
    {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = kSegmentBytes, .sync = journal::Sync::none}, kBegin};
        writer.set_epoch(7);
        writer.name(0, name_of(0));
        writer.set_depth(3, {.depth = 2});
        std::uint64_t ring = 0;
        ASSERT_TRUE(writer.append(feed::Clear{.channel = 3, .receive_utc_ns = kBegin}, ++ring));
        for (const feed::Price dollars : {100, 99, 101}) {  // the third drops the second
            ASSERT_TRUE(writer.append(feed::Level{.instrument = 0,
                                                  .channel = 3,
                                                  .flags = feed::kLast,
                                                  .side = feed::Side::bid,
                                                  .orders = 1,
                                                  .price = dollars * feed::kPriceScale,
                                                  .size = 7,
                                                  .receive_utc_ns = kBegin},
                                      ++ring));
        }
    }
    const auto ring = unique_ring("depth");
    Program replay{{"replay", folder_, "--ring", ring, "--readers", "2", "--speed", "max", "--quiet"}};
    ASSERT_TRUE(replay.prints("waiting for 2 readers"));
    market::RingReader reader{{.name = ring, .visible_as = "first"}};
    market::RingReader second{{.name = ring, .visible_as = "second"}};
    market::Books books{{.max_instruments = reader.max_instruments()},
                        [&](std::uint16_t channel) { return reader.depth(channel); }};
    ASSERT_EQ(replay.wait().exit_code, 0);
    EXPECT_EQ(reader.poll(books, 100), 4U);
    const auto* const book = books.find(0);
    ASSERT_NE(book, nullptr);
    EXPECT_TRUE(book->complete());
    ASSERT_EQ(book->bids().size(), 2U);
    EXPECT_EQ(book->bids()[0].price, 101 * feed::kPriceScale);
    EXPECT_EQ(book->bids()[1].price, 100 * feed::kPriceScale);
    std::vector<market::BoardLevel> levels(std::size_t{2} * second.board().max_depth());
    EXPECT_EQ(second.board().max_depth(), 2U);
    EXPECT_EQ(second.board().levels(0, levels).event.bids, 2U);
}

TEST_F(JournalReplay, ALossOfTheJournalIsAGapOfEveryChannelInTheRing) {
    constexpr std::uint64_t kLostAt = 100;
    write(120, kLostAt, 11);
    const auto ring = unique_ring("lossy");
    Program program{{"replay", folder_, "--ring", ring, "--readers", "1", "--speed", "max"}};
    ASSERT_TRUE(program.prints("waiting for 1 readers"));
    market::RingReader reader{{.name = ring, .visible_as = "test"}};
    Kept kept;
    for (bool closed = false; !closed;) {
        closed = reader.writer_state() == market::WriterState::closed;
        while (reader.poll(kept, 64) != 0) {
        }
    }
    EXPECT_EQ(program.wait().exit_code, 0);
    ASSERT_EQ(kept.events.size(), 122U);
    for (std::uint16_t channel = 0; channel < 2; ++channel) {
        const auto* gap = std::get_if<feed::Gap>(&kept.events[kLostAt + channel]);
        ASSERT_NE(gap, nullptr);
        EXPECT_EQ(gap->channel, channel);
        EXPECT_EQ(gap->receive_utc_ns, kBegin + (kLostAt - 1) / 4 * kMillisecond);
    }
}

TEST_F(JournalReplay, ARecordedGapIsALossForTheReceiverOfItsDatagrams) {
    {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = kSegmentBytes, .sync = journal::Sync::none}, kBegin};
        writer.set_epoch(7);
        writer.name(1, name_of(1));
        ASSERT_TRUE(writer.append(std::get<feed::Quote>(event_of(1)), 1));
        ASSERT_TRUE(writer.append(feed::Gap{.channel = 1, .receive_utc_ns = kBegin}, 2));
    }
    traffic::JournalSource source{folder_, {}};
    std::vector<std::string> datagrams;
    for (traffic::Outgoing out; source.next(out);) {
        datagrams.emplace_back(reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size());
    }
    const Wire wire{datagrams};
    EXPECT_EQ(source.counts().gaps, 1U);
    EXPECT_EQ(wire.decoder.counters().gaps.read(), 1U);
}

TEST_F(JournalReplay, AClearOfOneChannelKeepsTheQuotesOfOthersAtTheReceiver) {
    constexpr feed::InstrumentId kQuiet = 100;  // instruments of channel 1, more than a datagram holds
    {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = kSegmentBytes, .sync = journal::Sync::none}, kBegin};
        writer.set_epoch(7);
        std::uint64_t ring = 0;
        for (feed::InstrumentId id = 0; id <= kQuiet; ++id) {
            writer.name(id, name_of(id));
            auto quote = std::get<feed::Quote>(event_of(0));
            quote.instrument = id;
            quote.channel = id == kQuiet ? 0 : 1;
            quote.bid_price = static_cast<feed::Price>(id);
            ASSERT_TRUE(writer.append(quote, ++ring));
        }
        ASSERT_TRUE(writer.append(feed::Clear{.channel = 0, .receive_utc_ns = kBegin}, ++ring));
        ASSERT_TRUE(writer.append(feed::Gap{.channel = 1, .receive_utc_ns = kBegin}, ++ring));
    }
    traffic::JournalSource source{folder_, {}};
    std::vector<std::string> datagrams;
    for (traffic::Outgoing out; source.next(out);)
        datagrams.emplace_back(reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size());
    EXPECT_EQ(source.counts().quotes, kQuiet + 1U);
    feed::InstrumentTable instruments{kQuiet + 1};
    feed::QuotesDecoder decoder{instruments, {}};
    Kept kept;
    for (const auto& datagram : datagrams) {
        ASSERT_TRUE(decoder.decode(std::as_bytes(std::span{datagram}), {}, kept).ok());
    }
    const auto clear = std::ranges::find_if(kept.events, [](const Event& event) { return event.index() == 5; });
    ASSERT_EQ(kept.events.end() - clear, kQuiet + 1);
    for (feed::InstrumentId id = 0; id < kQuiet; ++id) {
        const auto& quote = std::get<feed::Quote>(*(clear + 1 + id));
        EXPECT_EQ(quote.bid_price, static_cast<feed::Price>(id));
        EXPECT_EQ(quote.flags, feed::kIncomplete) << "the gap";
    }
}

TEST_F(JournalReplay, EventsThatDoNotFitTheRingAreAFailure) {
    write(100);
    const auto outcome =
        run({"replay", folder_, "--ring", unique_ring("narrow"), "--max-instruments", "1", "--speed", "max"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("events: its capacity is 1 instruments (--max-instruments) and 1024 channels"));
}

TEST_F(JournalReplay, AnExportCountsTheRowsThatItWrites) {
    write(100);  // including two trades
    const auto file = folder_ + ".csv";
    const auto all = run({"journal", "export", folder_, "csv", file});
    EXPECT_THAT(all.out, HasSubstr("98 rows written to '"));
    const auto some = run({"journal", "export", folder_, "csv", file, "--count", "50"});
    EXPECT_THAT(some.out, HasSubstr("50 rows written to '"));
    const auto events = run({"journal", "export", folder_, "json", file});
    EXPECT_THAT(events.out, HasSubstr("100 events written to '"));
    std::filesystem::remove(file);
}

TEST_F(JournalReplay, OneSegmentIsReplayedByItself) {
    write(20'000);
    const auto files = journal::list_segments(folder_);
    ASSERT_GT(files.size(), 1U);
    const auto listed = run({"journal", "ls", files[1].path.string()});
    EXPECT_EQ(std::count(listed.out.begin(), listed.out.end(), '\n'), 3) << listed.out;
    traffic::JournalSource second{files[1].path.string(), {}};
    traffic::Outgoing out;
    while (second.next(out)) {
    }
    traffic::JournalSource all{folder_, {}};
    while (all.next(out)) {
    }
    EXPECT_GT(second.counts().quotes, 0U);
    EXPECT_LT(second.counts().quotes, all.counts().quotes);
    EXPECT_EQ(second.counts().lost, 0U);
}

TEST_F(JournalReplay, ACompressedSegmentIsReplayedLikeThePlainOneAndLeavesNoFile) {
    write(1'000);
    const auto segment = journal::list_segments(folder_).front().path.string();
    const auto packed = folder_ + ".mpj.gz";
    const auto temporary = std::filesystem::path{folder_} / "temporary";
    std::filesystem::create_directory(temporary);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    setenv("TMPDIR", temporary.c_str(), 1);
    const auto replayed = [&](const std::string& file) {
        return run({"replay", file, "--to", "127.0.0.1:9", "--speed", "max", "--quiet"});
    };
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    ASSERT_EQ(std::system(("gzip -c '" + segment + "' > '" + packed + "'").c_str()), 0);
    const auto counts_of = [](const Outcome& outcome) { return outcome.out.substr(0, outcome.out.find('\n')); };
    const auto plain = replayed(segment);
    const auto whole = replayed(packed);
    EXPECT_EQ(whole.exit_code, 0) << whole.err;
    EXPECT_EQ(counts_of(whole), counts_of(plain));
    EXPECT_THAT(whole.out, HasSubstr("journal: 978 quotes, 0 gaps"));
    // Only the checksum at the end is missing; all events are complete.
    std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 1);
    const auto cut = replayed(packed);
    unsetenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): one thread
    std::filesystem::remove(packed);
    EXPECT_EQ(cut.exit_code, 3);
    EXPECT_EQ(counts_of(cut), counts_of(plain));
    EXPECT_THAT(cut.err, HasSubstr("the file ends within its compressed data"));
    EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

TEST_F(JournalReplay, ASegmentThatCannotBeReadIsNamedByBothWaysAndTheRestIsReplayed) {
    write(60'000);
    const auto files = journal::list_segments(folder_);
    ASSERT_GT(files.size(), 2U);
    const auto& damaged = files[1].path;
    std::filesystem::resize_file(damaged, 10);
    const auto sent = run({"replay", folder_, "--to", "127.0.0.1:9", "--speed", "max", "--quiet"});
    EXPECT_EQ(sent.exit_code, 3);
    EXPECT_THAT(sent.err, HasSubstr(damaged.filename().string()));
    EXPECT_THAT(sent.err, HasSubstr("; passed over\n"));
    EXPECT_THAT(sent.out, Not(HasSubstr(" 0 quotes,")));
    EXPECT_THAT(sent.out, Not(HasSubstr("; 0 were lost")));
    const auto published = run({"replay", folder_, "--ring", unique_ring("damaged"), "--speed", "max", "--quiet"});
    EXPECT_EQ(published.exit_code, 3);
    EXPECT_THAT(published.err, HasSubstr(damaged.filename().string()));
}

TEST_F(JournalReplay, SymbolsWithoutEventsAreNamedOnceAllIsRead) {
    write(1'000);
    const std::vector<std::string> symbols{"--symbol", "SYM1", "--symbol", "syn1", "--symbol", "SYM9"};
    const auto errors_of = [&](std::vector<std::string> command, const std::vector<std::string>& more) {
        command.insert(command.end(), symbols.begin(), symbols.end());
        command.insert(command.end(), more.begin(), more.end());
        const auto outcome = run(command);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return outcome.err;
    };
    const auto file = folder_ + ".json";
    const std::string warning = "symbols without events: SYM9, syn1\n";
    EXPECT_EQ(errors_of({"journal", "cat", folder_}, {}), warning);
    EXPECT_THAT(errors_of({"journal", "export", folder_, "json", file}, {}), HasSubstr(warning));
    EXPECT_EQ(errors_of({"journal", "cat", folder_}, {"--until", "2100-01-01"}), warning);
    EXPECT_EQ(errors_of({"journal", "cat", folder_}, {"--count", "3"}), "") << "the rest may have them";
    EXPECT_EQ(run({"journal", "cat", folder_, "--symbol", "SYM1"}).err, "");
    std::filesystem::remove(file);
}

TEST_F(JournalReplay, ASegmentThatWasCutOffIsTheSameToEveryCommand) {
    struct Case {
        std::size_t behind;  // 0: the newest segment
        std::uintmax_t bytes;
    };
    const auto file = folder_ + ".json";
    const std::vector<std::vector<std::string>> commands{
        {"journal", "verify", folder_},
        {"journal", "cat", folder_},
        {"journal", "export", folder_, "json", file},
        {"replay", folder_, "--to", "127.0.0.1:9", "--speed", "max", "--quiet"},
        {"replay", folder_, "--ring", unique_ring("cut"), "--speed", "max", "--quiet"},
    };
    const auto expect = [&](int exit_code, const std::string& text) {
        for (const auto& command : commands) {
            const auto outcome = run(command);
            EXPECT_EQ(outcome.exit_code, exit_code) << command[0] << ' ' << command[1] << outcome.err;
            EXPECT_THAT(outcome.err, HasSubstr(text)) << command[0] << ' ' << command[1];
        }
    };
    for (const auto& [behind, bytes] : {Case{0, 0}, Case{0, 1}, Case{0, 100}, Case{0, 5'000}, Case{1, 0}, Case{1, 1}}) {
        SCOPED_TRACE(std::to_string(behind) + " from the end, cut to " + std::to_string(bytes));
        std::filesystem::remove_all(folder_);
        write(30'000);
        auto files = journal::list_segments(folder_);
        ASSERT_GT(files.size(), 2U);
        const auto waiting = folder_ + "/0000000099.mpj";
        std::ofstream{waiting}.close();  // an empty file, as it exists for an instant while a writer creates it
        expect(0, "");
        const auto& cut = files[files.size() - 1 - behind].path;
        std::filesystem::resize_file(cut, bytes);
        expect(3, cut.filename().string() + (bytes == 0 ? ": it is empty" : ": "));
    }
    std::filesystem::remove(file);
    const auto empty = folder_ + "/empty.mpj";
    std::ofstream{empty}.close();
    EXPECT_EQ(run({"journal", "verify", empty}).exit_code, 5);
    EXPECT_EQ(run({"journal", "cat", empty}).exit_code, 5);
}

TEST_F(JournalReplay, VerifyMissesTheNewestSegmentsThatWereRemoved) {
    write(30'000);
    const auto files = journal::list_segments(folder_);
    ASSERT_GT(files.size(), 2U);
    EXPECT_EQ(run({"journal", "verify", folder_}).exit_code, 0);
    std::filesystem::remove(files.back().path);
    const auto verified = run({"journal", "verify", folder_});
    EXPECT_EQ(verified.exit_code, 4);
    EXPECT_THAT(verified.out, HasSubstr("the newest segments are missing: " + std::to_string(files.size())));
    // A copy without the lock file does not list them.
    std::filesystem::remove(std::filesystem::path{folder_} / journal::kLockName);
    EXPECT_EQ(run({"journal", "verify", folder_}).exit_code, 0);
}

TEST_F(JournalReplay, ANameThatIsDamagedInOneSegmentIsThatOfTheNext) {
    write(30'000);
    const auto files = journal::list_segments(folder_);
    ASSERT_GT(files.size(), 2U);
    const auto lines_of = [&](const std::string& text, const std::string& symbol) {
        std::size_t lines = 0;
        for (auto at = text.find(symbol); at != std::string::npos; at = text.find(symbol, at + 1)) ++lines;
        return lines;
    };
    const auto cat = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"journal", "cat", folder_, "--format", "csv"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments).out;
    };
    const auto all = lines_of(cat({}), ",SYM1,");
    const auto next = journal::SegmentReader{files[1].path}.identity().first_record;
    const auto named = lines_of(cat({"--from", std::to_string(next)}), ",SYM1,");
    EXPECT_GT(named, 1'000U);
    std::ifstream in{files[0].path, std::ios::binary};
    std::string bytes{std::istreambuf_iterator<char>{in}, {}};
    const auto name = bytes.find("SYM1");
    ASSERT_NE(name, std::string::npos);
    std::fstream{files[0].path, std::ios::in | std::ios::out | std::ios::binary}.seekp(
        static_cast<std::streamoff>(name))
        << "?";
    const auto damaged = cat({});
    EXPECT_EQ(lines_of(damaged, ",SYM1,"), named);
    EXPECT_EQ(lines_of(damaged, ",#1,"), all - named);
    EXPECT_EQ(lines_of(cat({"--symbol", "SYM1"}), ",SYM1,"), named);
    {
        traffic::JournalSource source{folder_, {}};
        feed::InstrumentTable instruments{16};
        feed::QuotesDecoder decoder{instruments, {}};
        Kept kept;
        for (traffic::Outgoing out; source.next(out);) ASSERT_TRUE(decoder.decode(out.bytes, {}, kept).ok());
        std::map<std::string, std::uint64_t> bids;  // final bids of the receivers
        for (const auto& event : kept.events) {
            if (std::holds_alternative<feed::Clear>(event)) bids.clear();
            const auto* quote = std::get_if<feed::Quote>(&event);
            if (quote != nullptr) bids[std::string{instruments.symbol(quote->instrument).view()}] = quote->bid_size;
        }
        EXPECT_EQ(bids.size(), 3U);
        EXPECT_EQ(bids.count("#1"), 0U);
        EXPECT_EQ(bids.count("SYM1"), 1U);
    }
    const auto ring = unique_ring("named");
    Program replay{{"replay", folder_, "--ring", ring, "--readers", "1", "--speed", "max", "--quiet"}};
    ASSERT_TRUE(replay.prints("waiting for 1 readers"));
    market::RingReader reader{{.name = ring}};
    Program tail{{"tail", "--ring", ring, "--symbol", "SYM1", "--format", "csv"}};
    EXPECT_EQ(replay.wait().exit_code, 3);
    EXPECT_EQ(lines_of(tail.wait().out, ",SYM1,"), named);
    std::map<std::string, std::uint64_t> bids;
    for (feed::InstrumentId id = 0; id < reader.instruments(); ++id) {
        bids[std::string{reader.instrument(id)->symbol.view()}] = reader.board().quote(id).event.bid_size;
    }
    ASSERT_EQ(bids.size(), 4U);
    EXPECT_EQ(bids.at("#1"), 0U) << "the quote without a name stays beside the one with it";
    EXPECT_NE(bids.at("SYM1"), 0U);
}

TEST_F(JournalReplay, DatagramsAreDueAtTheRecordedDistancesAndTimesChooseAPart) {
    write(400);
    traffic::JournalSource source{
        folder_, {.heartbeat_ns = 0, .since = kBegin + 10 * kMillisecond, .until = kBegin + 20 * kMillisecond}};
    traffic::Outgoing out;
    std::uint64_t quotes = 0;
    for (std::int64_t millisecond = 0; source.next(out); ++millisecond) {
        EXPECT_EQ(out.due_ns, millisecond * kMillisecond);
        quotes += out.messages;
    }
    EXPECT_EQ(quotes, 39U);  // events 40 to 79 without event 67, a trade
    EXPECT_EQ(source.counts().others, 1U);
}

TEST_F(JournalReplay, EveryCommandSelectsByTimeThoughReceiveTimesGoBack) {
    constexpr std::int64_t kQuotes = 300;
    std::vector<std::int64_t> milliseconds;
    {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = kSegmentBytes, .sync = journal::Sync::none}, kBegin};
        writer.set_epoch(7);
        writer.name(0, name_of(0));
        for (std::int64_t n = 0; n < kQuotes; ++n) {
            milliseconds.push_back(n % 2 == 0 || n < 20 ? n : n - 15);  // two feeds, one of them delayed
            feed::Quote quote;
            quote.instrument = 0;
            quote.bid_price = n + 1;
            quote.bid_size = 1;
            quote.receive_utc_ns = kBegin + milliseconds.back() * kMillisecond;
            ASSERT_TRUE(writer.append(quote, static_cast<std::uint64_t>(n + 1)));
        }
    }
    const auto text = [](std::int64_t millisecond) {
        const auto digits = std::to_string(1'000 + millisecond).substr(1);
        return "2023-11-14T22:13:20." + digits;
    };
    const auto file = folder_ + ".json";
    for (const auto& [since, until] : {std::pair{0, 100}, {101, 300}, {50, 51}, {77, 130}}) {
        const auto expected =
            std::ranges::count_if(milliseconds, [&](std::int64_t time) { return time >= since && time < until; });
        const std::vector<std::string> range{"--since", text(since), "--until", text(until)};
        const auto with_range = [&](std::vector<std::string> arguments) {
            arguments.insert(arguments.end(), range.begin(), range.end());
            return run(std::move(arguments));
        };
        const auto lines = with_range({"journal", "cat", folder_, "--format", "json"}).out;
        EXPECT_EQ(std::ranges::count(lines, '\n'), expected) << since;
        EXPECT_THAT(with_range({"journal", "export", folder_, "json", file}).out,
                    HasSubstr(std::to_string(expected) + " events written"));
        EXPECT_THAT(with_range({"replay", folder_, "--ring", unique_ring("back"), "--speed", "max"}).out,
                    HasSubstr("published " + std::to_string(expected) + " events"));
        traffic::JournalSource source{folder_,
                                      {.since = kBegin + since * kMillisecond, .until = kBegin + until * kMillisecond}};
        traffic::Outgoing out;
        std::int64_t sent = 0;
        while (source.next(out)) sent += out.messages;
        EXPECT_EQ(sent, expected) << since;
    }
    std::filesystem::remove(file);
}

TEST_F(JournalReplay, WhatCannotBeReplayedIsRefusedByName) {
    std::filesystem::create_directories(folder_);
    const auto empty = run({"replay", folder_, "--to", "127.0.0.1:9"});
    EXPECT_EQ(empty.exit_code, 1);
    EXPECT_THAT(empty.err, HasSubstr("not a journal: it has no segment with records"));
    write(10);
    EXPECT_THAT(run({"replay", folder_}).err,
                HasSubstr("one of --to ADDRESS:PORT, --ring NAME and --serve-soupbin ADDRESS:PORT is needed"));
    const auto both = run({"replay", folder_, "--to", "127.0.0.1:9", "--ring", "x"});
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_THAT(both.err, HasSubstr("--to and --ring are mutually exclusive"));
    const auto no_port = run({"replay", folder_, "--to", "127.0.0.1:0"});
    EXPECT_EQ(no_port.exit_code, 2);
    EXPECT_THAT(no_port.err, HasSubstr("--to: '127.0.0.1:0': a port from 1 to 65535 is needed"));
    const auto odd = run({"replay", folder_, "--ring", "x", "--capacity", "1000"});
    EXPECT_EQ(odd.exit_code, 2);
    EXPECT_THAT(odd.err, HasSubstr("expects a power of two, found '1000'"));
    const auto backwards =
        run({"replay", folder_, "--ring", "x", "--since", "2026-11-21", "--until", "2026-11-20T10:00Z"});
    EXPECT_EQ(backwards.exit_code, 2);
    EXPECT_THAT(backwards.err, HasSubstr("--until: '2026-11-20T10:00Z' is not later than '2026-11-21' of --since"));
    const auto only = run({"replay", folder_, "--to", "127.0.0.1:9", "--only", "127.0.0.1:9"});
    EXPECT_EQ(only.exit_code, 2);
    EXPECT_THAT(only.err, HasSubstr("holds events without addresses"));
    const auto since = run({"replay", folder_, "--to", "127.0.0.1:9", "--since", "noon"});
    EXPECT_EQ(since.exit_code, 2);
    EXPECT_THAT(since.err, HasSubstr("'noon' is not a time of the years 1678 to 2261 like"));
    const auto faults = run({"replay", folder_, "--ring", unique_ring("faults"), "--drop", "0.5"});
    EXPECT_EQ(faults.exit_code, 2);
    const auto capture = run({"replay", MILLPOND_PROGRAM, "--ring", "x"});
    EXPECT_THAT(capture.err, HasSubstr("neither a journal, a capture (pcap, pcapng) nor a file of ITCH messages"));
    EXPECT_THAT(run({"replay", "--help"}).out, HasSubstr("millpond replay /var/lib/millpond/journal --ring backtest"));
}

}  // namespace
}  // namespace millpond::app
