// Real market data through the whole program: replayed over loopback, then every event of the ring, every line of a TCP
// client and every row of the file are compared with the output of a decoder in this process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_deep_plus.hpp>
#include <millpond/feed/iex_tops.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/quote_csv.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/udp_sender.hpp>

#include "apps/millpond/traffic/fault_planter.hpp"
#include "apps/millpond/traffic/itch_source.hpp"
#include "apps/millpond/traffic/pcap_source.hpp"
#include "service/time_zone.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/line_client.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

constexpr std::size_t kMaxInstruments = 16'384;

/// Events in order, without receive times and ring numbers, which differ from run to run.
struct Recorder {
    template <class Event>
    void on(const Event& event) {
        auto copy = event;
        copy.receive_utc_ns = 0;
        copy.receive_ticks = 0;
        std::string bytes(sizeof copy, '\0');
        std::memcpy(bytes.data(), &copy, sizeof copy);
        events.push_back(static_cast<char>(Event::kKind) + bytes);
        if constexpr (Event::kKind == feed::EventKind::quote) ++quotes;
        if constexpr (Event::kKind == feed::EventKind::trade) ++trades;
        if constexpr (Event::kKind == feed::EventKind::trade_break) ++breaks;
        if constexpr (Event::kKind == feed::EventKind::gap) ++gaps;
    }
    std::vector<std::string> events;
    std::uint64_t quotes{0};
    std::uint64_t trades{0};
    std::uint64_t breaks{0};
    std::uint64_t gaps{0};
};

/// Expected output of the sinks for the ring's events.
struct RingRecorder : Recorder {
    explicit RingRecorder(market::RingReader& from) : reader(from) {}

    void on(const feed::Quote& quote) {
        Recorder::on(quote);
        std::array<char, feed::kMaxJsonBytes> json;
        std::array<char, feed::kMaxCsvBytes> row;
        const auto& symbol = reader.instrument(quote.instrument)->symbol;
        lines.emplace_back(feed::quote_json(json, quote, feed::JsonSymbol{symbol}, reader.current()));
        rows += feed::quote_csv(row, quote, feed::CsvSymbol{symbol});
    }
    template <class Event>
    void on(const Event& event) {
        Recorder::on(event);
        std::array<char, feed::kMaxJsonBytes> json;
        const auto symbol =
            event.instrument == feed::kNoInstrument ? feed::Symbol{} : reader.instrument(event.instrument)->symbol;
        lines.emplace_back(feed::event_json(json, event, feed::JsonSymbol{symbol}, reader.current()));
    }
    void on(const feed::Gap& gap) {
        Recorder::on(gap);
        std::array<char, feed::kMaxJsonBytes> json;
        std::array<char, feed::kMaxCsvBytes> row;
        lines.emplace_back(feed::event_json(json, gap, {}, reader.current()));
        rows += feed::gap_csv(row, gap);
    }
    void on(const queue::MissedRange& range) { missed += range.count(); }

    market::RingReader& reader;
    std::vector<std::string> lines;
    std::string rows;
    std::uint64_t missed{0};
};

/// The lines with events; other lines repeat quotes that a gap made incomplete.
std::vector<std::string> events_in(const std::vector<std::string>& lines) {
    constexpr std::string_view kMark = "\"sequence\":";
    std::vector<std::string> events;
    std::uint64_t newest = 0;
    for (const auto& line : lines) {
        const auto at = line.find(kMark);
        const auto number = at == std::string::npos ? 0 : std::stoull(line.substr(at + kMark.size()));
        if (number > newest) {
            events.push_back(line);
            newest = number;
        } else {
            EXPECT_NE(line.find("\"incomplete\":true"), std::string::npos) << line;
        }
    }
    return events;
}

/// All events that a decoder produces from a source.
template <class Decoder>
struct Expected {
    Expected(traffic::Source& source, const std::string& day) : decoder(instruments, typename Decoder::Options{}) {
        if constexpr (requires { decoder.set_midnight(std::int64_t{}); })
            decoder.set_midnight(service::midnight_utc_ns("America/New_York", day, 0));
        traffic::Outgoing datagram;
        while (source.next(datagram)) static_cast<void>(decoder.decode(datagram.bytes, feed::Arrival{}, recorder));
    }
    feed::InstrumentTable instruments{kMaxInstruments};
    Decoder decoder;
    Recorder recorder;
};

std::optional<std::string> data_file(const std::string& name) {
    const char* folder = std::getenv("MILLPOND_TEST_DATA");
    if (folder == nullptr) return std::nullopt;
    const auto path = std::filesystem::path{folder} / name;
    return std::filesystem::exists(path) ? std::optional{path.string()} : std::nullopt;
}

std::string text_of(const std::string& path) {
    std::ifstream in{path};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

/// A gateway that a file is replayed to, with a TCP client, a CSV file and a reader of its ring.
struct Passage {
    Passage(const std::string& name, const std::string& format, const std::string& day)
        : csv(::testing::TempDir() + unique_ring(name) + ".csv"),
          trades_csv(::testing::TempDir() + unique_ring(name) + ".trades.csv"),
          gateway({.ring = unique_ring(name),
                   .format = format,
                   .feed = ",date=" + day,
                   .more = {"--tcp", "listen=127.0.0.1:0,backlog=65536,stall_seconds=600", "--csv", "path=" + csv}}),
          reader({.name = gateway.ring()}),
          recorder(reader),
          client(gateway.tcp_port("tcp")) {
        // The client receives a line for every event from here on.
        if (!gateway.program().prints("tcp sink 'tcp': client")) throw std::runtime_error("the client is not accepted");
        reader.join(recorder);
    }
    ~Passage() {
        std::filesystem::remove(csv);
        std::filesystem::remove(trades_csv);
    }

    /// Replays the file, and reads until the ring has published `events` events and the client has received as many
    /// lines.
    void replay(const std::string& file, std::vector<std::string> more, std::size_t events) {
        std::vector<std::string> arguments{"replay", file, "--to", gateway.feed_address(), "--quiet"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto outcome = run(arguments);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        read(events);
    }

    /// Reads until the ring has published this many events and the client has received as many lines.
    void read(std::size_t events) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (recorder.events.size() + recorder.missed < events && core::monotonic_nanos() < deadline) {
            if (reader.poll(recorder, 1'024) == 0) client.wait(1);
        }
        while (lines_seen < events && core::monotonic_nanos() < deadline) {
            client.wait();
            client.receive();
            lines_seen = events_in(client.lines()).size();
        }
    }

    std::string csv;
    std::string trades_csv;  // written by the csv sink too
    GatewayRun gateway;
    market::RingReader reader;
    RingRecorder recorder;
    test::LineClient client;
    std::size_t lines_seen{0};
};

template <class Decoder>
void expect_same(Passage& passage, const Expected<Decoder>& expected) {
    EXPECT_EQ(passage.recorder.missed, 0U);
    ASSERT_EQ(passage.recorder.events.size(), expected.recorder.events.size());
    for (std::size_t i = 0; i < expected.recorder.events.size(); ++i) {
        ASSERT_EQ(passage.recorder.events[i], expected.recorder.events[i]) << "event " << i;
    }
    EXPECT_TRUE(events_in(passage.client.lines()) == passage.recorder.lines);
    // Compares names and their order too: equal ids alone would not prove equal names.
    for (feed::InstrumentId id = 0; id < expected.instruments.size(); ++id) {
        ASSERT_EQ(passage.reader.instrument(id)->symbol, expected.instruments.symbol(id));
    }
    const auto& counters = expected.decoder.counters();
    auto& gateway = passage.gateway;
    EXPECT_EQ(gateway.metric("millpond_feed_messages_total"), static_cast<std::int64_t>(counters.messages.read()));
    EXPECT_EQ(gateway.metric("millpond_feed_kernel_drops_total"), 0);
    EXPECT_EQ(gateway.metric("millpond_ring_instruments"), static_cast<std::int64_t>(expected.instruments.size()));
    expected.decoder.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (!name.starts_with("sequence_")) return;
        EXPECT_EQ(gateway.metric("millpond_feed_" + std::string{name} + "_total"),
                  static_cast<std::int64_t>(tally.read()))
            << name;
    });
    const auto outcome = gateway.end();
    EXPECT_EQ(outcome.exit_code, 0);
    const auto all = std::to_string(expected.recorder.events.size());
    EXPECT_THAT(outcome.err, ::testing::HasSubstr("sink 'tcp': published " + all + " = delivered " + all +
                                                  " + filtered 0 + conflated 0 + missed 0 + queued 0"));
    const auto& events = expected.recorder;
    const auto written = std::to_string(events.quotes + events.trades + events.breaks + events.gaps);
    EXPECT_THAT(outcome.err, ::testing::HasSubstr("sink 'csv': published " + all + " = delivered " + written + " + "));
    EXPECT_TRUE(text_of(passage.csv) == std::string{feed::kCsvHeader} + passage.recorder.rows);
    EXPECT_TRUE(gateway.shared_names().empty());
}

TEST(RealData, TheMiaxCapturePassesWholeThroughRingTcpAndCsv) {
    const auto file = data_file("Miax.Tom.Mach.v1.9.Example.pcap");
    if (!file) GTEST_SKIP() << "MILLPOND_TEST_DATA has no MIAX capture";
    const std::string day = "2016-10-18";
    traffic::PcapSource source{*file};
    const Expected<feed::MiaxTomDecoder> expected{source, day};
    // Numbers of this capture.
    ASSERT_EQ(expected.decoder.counters().messages.read(), 50'892U);
    ASSERT_EQ(expected.recorder.quotes, 25'905U + 24'912U);
    ASSERT_EQ(expected.recorder.trades, 15U);
    ASSERT_EQ(expected.instruments.size(), 4'773U);
    Passage passage{"miax", "miax-tom", day};
    passage.replay(*file, {"--speed", "30"}, expected.recorder.events.size());
    EXPECT_EQ(passage.gateway.metric("millpond_feed_sequence_gaps_total"), 0);
    expect_same(passage, expected);
}

/// One capture of the packets in `files` of the iex folder.
std::string capture_of_iex(std::initializer_list<std::string_view> files) {
    constexpr std::size_t kHeaderBytes = 24;
    std::string capture;
    for (const auto file : files) {
        const auto text = text_of(*data_file("iex/" + std::string{file} + ".pcap"));
        capture += capture.empty() ? text : text.substr(kHeaderBytes);
    }
    return capture;
}

/// Sends the packets of `files` to a gateway. quotes: their number.
template <class Decoder>
void expect_iex_passes(const std::string& format, std::initializer_list<std::string_view> files, std::uint64_t quotes) {
    if (!data_file("iex/" + std::string{*files.begin()} + ".pcap"))
        GTEST_SKIP() << "MILLPOND_TEST_DATA has no iex folder";
    const millpond::test::ScratchFile file{millpond::test::scratch_name(format + ".pcap"), capture_of_iex(files)};
    const std::string day = "2018-01-26";
    traffic::PcapSource source{file.path()};
    const Expected<Decoder> expected{source, day};
    ASSERT_EQ(expected.recorder.quotes, quotes);
    Passage passage{format, format, day};
    passage.replay(file.path(), {"--speed", "max"}, expected.recorder.events.size());
    expect_same(passage, expected);
}

TEST(RealData, TheIexTopsPacketsPassWholeThroughRingTcpAndCsv) {
    expect_iex_passes<feed::IexTopsDecoder>(
        "iex-tops",
        {"Tops.v1.5.SecurityDirectoryMessage", "Tops.v1.5.OperationalHaltStatusMessage",
         "Tops.v1.5.ShortSalePriceTestStatusMessage", "Tops.v1.5.TradeReportMessage",
         "Tops.v1.5.AuctionInformationMessage", "Tops.v1.5.SystemEventMessage", "Tops.v1.5.OfficialPriceMessage",
         "Tops.v1.5.QuoteUpdateMessage", "Tops.v1.5.TradingStatusMessage", "Tops.v1.6.QuoteUpdateMessage"},
        14);
}

TEST(RealData, TheIexDeepPacketsPassWholeThroughRingTcpAndCsv) {
    expect_iex_passes<feed::IexDeepDecoder>(
        "iex-deep",
        {"Deep.v1.0.Heartbeat", "Deep.v1.0.PriceLevelBuyUpdateMessage", "Deep.v1.0.PriceLevelSellUpdateMessage"}, 2);
}

TEST(RealData, TheIexDeepPlusPacketsPassWholeThroughRingTcpAndCsv) {
    expect_iex_passes<feed::IexDeepPlusDecoder>(
        "iex-deep-plus",
        {"DeepPlus.v1.0.2.S_SystemEvent", "DeepPlus.v1.0.2.D_SecurityDirectory", "DeepPlus.v1.0.2.a_AddOrder",
         "DeepPlus.v1.0.2.R_OrderDelete", "DeepPlus.v1.0.2.L_OrderExecuted", "DeepPlus.v1.0.2.T_Trade",
         "DeepPlus.v1.0.2.M_OrderModify", "DeepPlus.v1.0.2.E_SecurityEvent", "DeepPlus.v1.0.2.B_TradeBreak"},
        2);
}

TEST(RealData, TheAppleBookPassesWholeThroughRingTcpAndCsv) {
    const auto file = data_file("aapl_20200130_first10k.itch");
    if (!file) GTEST_SKIP() << "MILLPOND_TEST_DATA has no ITCH file";
    const std::string day = "2020-01-30";
    traffic::ItchSource source{*file, {.heartbeat_ns = 0}};
    const Expected<feed::ItchDecoder> expected{source, day};
    ASSERT_EQ(expected.recorder.quotes, 2'792U);
    Passage passage{"aapl", "itch", day};
    net::UdpSender sender{{.to = net::SocketAddress::parse(passage.gateway.feed_address())}};
    std::vector<std::string> datagrams;
    traffic::ItchSource again{*file, {.heartbeat_ns = 0}};
    traffic::Outgoing datagram;
    while (again.next(datagram)) {
        datagrams.emplace_back(reinterpret_cast<const char*>(datagram.bytes.data()), datagram.bytes.size());
    }
    const auto send = [&](std::size_t first, std::size_t end) {
        for (auto i = first; i < end; ++i) ASSERT_TRUE(sender.send(std::as_bytes(std::span{datagrams[i]})));
    };
    // The last three datagrams end the session, which clears the books and adds one event.
    const auto ends = datagrams.size() - 3;
    send(0, ends);
    passage.read(expected.recorder.events.size() - 1);
    EXPECT_EQ(passage.gateway.metric("millpond_feed_orders_live"), 215);
    send(ends, datagrams.size());
    passage.read(expected.recorder.events.size());
    EXPECT_EQ(passage.gateway.metric("millpond_feed_orders_live"), 0);
    expect_same(passage, expected);
}

TEST(RealData, PlantedFaultsAreCountedExactly) {
    const auto file = data_file("Miax.Tom.Mach.v1.9.Example.pcap");
    if (!file) GTEST_SKIP() << "MILLPOND_TEST_DATA has no MIAX capture";
    const std::string day = "2016-10-18";
    traffic::PcapSource source{*file};
    traffic::FaultPlanter planter{source, {.drop = 0.01, .duplicate = 0.01, .swap = 0.01, .seed = 7}};
    const Expected<feed::MiaxTomDecoder> expected{planter, day};
    ASSERT_GT(planter.counts().dropped, 100U);
    ASSERT_GT(planter.counts().duplicated, 100U);
    ASSERT_GT(planter.counts().swapped, 100U);
    Passage passage{"faults", "miax-tom", day};
    passage.replay(*file, {"--speed", "30", "--drop", "0.01", "--duplicate", "0.01", "--swap", "0.01", "--seed", "7"},
                   expected.recorder.events.size());
    EXPECT_GT(passage.gateway.metric("millpond_feed_sequence_missing_total"), 0);
    expect_same(passage, expected);
}

}  // namespace
}  // namespace millpond::app
