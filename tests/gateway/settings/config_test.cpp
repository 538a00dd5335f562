#include "gateway/settings/config.hpp"
#include "gateway/feeds/bbo28/settings.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "gateway/feeds/miax_tom/settings.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/udp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/settings/read.hpp"
#include "gateway/settings/schema.hpp"
#include "gateway/settings/value.hpp"
#include "tests/gateway/settings/config_text.hpp"

namespace millpond::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Config, AnEmptyFileGivesOneRingAndNothingElse) {
    const auto config = from_toml("");
    ASSERT_EQ(config.rings.size(), 1U);
    EXPECT_EQ(config.rings[0].name, "main");
    EXPECT_EQ(config.rings[0].poll, core::Poll::adaptive);
    EXPECT_TRUE(config.feeds.empty());
}

TEST(Config, EveryTableOfAFileIsRead) {
    const auto config = from_toml(R"(
        log_level = "warning"
        log_format = "json"
        file_mode = "0600"
        quiet = true
        metrics = "off"
        poll = "spin"
        pin = 3
        realtime = 50
        [[ring]]
        name = "options"
        capacity = 1024
        max_instruments = 5000
        huge_pages = "require"
        mode = "0640"
        group = "quants"
        [[ring]]
        name = "equities"
        poll = "block"
        pin = 1
        [[feed]]
        name = "miax"
        format = "miax-tom"
        listen = "224.0.105.2:51002"
        source = "10.1.2.3"
        interface = "eth1"
        channel = 7
        venue = "MIAX"
        symbols = "products.csv"
        receive_buffer = "32MiB"
        nic_time = "prefer"
        [[feed]]
        format = "itch"
        ring = "equities"
        listen = "233.54.12.111:26477"
        date = "2020-01-30"
        [[tcp]]
        listen = "0.0.0.0:9200"
        mode = "conflate"
        backlog = 256
        max_clients = 10
        stall_seconds = 3
        poll = "spin"
        pin = 2
        [[csv]]
        path = "/var/tmp/quotes.csv"
        rotate_bytes = 1000000
        ring = "equities"
        [[udp]]
        to = "239.1.1.1:7000"
        channel = 9
    )");
    EXPECT_EQ(config.log_level, service::Severity::warning);
    EXPECT_EQ(config.log_format, service::LogFormat::json);
    EXPECT_EQ(config.file_mode, 0600U);
    EXPECT_TRUE(config.quiet);
    ASSERT_EQ(config.rings.size(), 2U);
    EXPECT_EQ(config.rings[0].capacity, 1024U);
    EXPECT_EQ(config.rings[0].max_instruments, 5000U);
    EXPECT_EQ(config.rings[0].huge_pages, Wanted::require);
    EXPECT_EQ(config.rings[0].mode, 0640U);
    EXPECT_EQ(config.rings[0].group, "quants");
    EXPECT_EQ(config.rings[0].poll, core::Poll::spin);
    EXPECT_EQ(config.rings[0].pin, 3U);
    EXPECT_EQ(config.rings[1].poll, core::Poll::block);
    EXPECT_EQ(config.rings[1].pin, 1U);
    EXPECT_EQ(config.rings[1].realtime, 50U);
    ASSERT_EQ(config.feeds.size(), 2U);
    EXPECT_EQ(&config.feeds[0].format.kind(), &miax_tom::Settings::format());
    EXPECT_EQ(config.feeds[0].channel, 7U);
    EXPECT_EQ(config.feeds[0].ring, "options");
    EXPECT_EQ(config.feeds[0].receive_buffer, 32U << 20);
    EXPECT_EQ(config.feeds[1].name, "233.54.12.111:26477");
    EXPECT_EQ(config.feeds[1].channel, 1U);
    EXPECT_EQ(config.feeds[1].date, "2020-01-30");
    ASSERT_EQ(config.sinks.size(), 3U);
    EXPECT_EQ(config.first<tcp::Settings>()->mode, Delivery::conflate);
    EXPECT_EQ(config.first<tcp::Settings>()->backlog, 256U);
    EXPECT_EQ(config.first<tcp::Settings>()->poll, core::Poll::spin);
    EXPECT_EQ(config.first<tcp::Settings>()->pin, 2U);
    EXPECT_EQ(config.first<csv::Settings>()->rotate_bytes, 1'000'000U);
    EXPECT_EQ(config.first<csv::Settings>()->poll, core::Poll::block);
    EXPECT_FALSE(config.first<csv::Settings>()->pin.has_value());
    EXPECT_EQ(config.first<udp::Settings>()->channel, 9U);
    EXPECT_EQ(config.first<udp::Settings>()->poll, core::Poll::adaptive);
}

TEST(Config, AnUnknownTableLikeNoOtherIsRefusedWithTheListOfAll) {
    std::string known = "ring, feed, composite, symbols";
    for (const auto* kind : builtin_sink_kinds()) (known += ", ") += kind->name();
    EXPECT_EQ(error_of("[xyzzyxyzzy]"), "gw.toml:1: unknown table 'xyzzyxyzzy'; known are: " + known);
}

struct Fault {
    std::string_view name;
    std::string_view text;
    std::string_view message;
};

class ConfigFault : public ::testing::TestWithParam<Fault> {};

TEST_P(ConfigFault, IsRefusedWithItsPlaceAndCause) { EXPECT_EQ(error_of(GetParam().text), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    All, ConfigFault,
    ::testing::Values(
        Fault{"UnknownTopLevelKey", "\nlog_levle = 'info'",
              "gw.toml:2: unknown key 'log_levle' of the top level; did you mean 'log_level'?"},
        Fault{"UnknownTable", "\n[[mqt]]", "gw.toml:2: unknown table 'mqt'; did you mean 'mqtt'?"},
        Fault{"UnknownFeedKey", "[[feed]]\nlisten = '127.0.0.1:1'\nfromat = 'itch'",
              "gw.toml:3: unknown key 'fromat' of [[feed]]; did you mean 'format'?"},
        Fault{"UnknownKeyLikeNoOther", "[[udp]]\nxyzzyxyzzy = 1",
              "gw.toml:2: unknown key 'xyzzyxyzzy' of [[udp]]; known are: name, ring, to, interface, channel, mode, "
              "depth, refresh_seconds, poll, pin"},
        Fault{"ZeroCopyOfASocket", "[[feed]]\nlisten = '127.0.0.1:1'\nzero_copy = 'require'",
              "gw.toml:1: [[feed]] '127.0.0.1:1': zero_copy: only with receive = \"af_xdp\""},
        Fault{"ChecksumOfASocket", "receive = 'socket'\n[[feed]]\nlisten = '127.0.0.1:1'\nchecksum = 'trust'",
              "gw.toml:2: [[feed]] '127.0.0.1:1': checksum: only with receive = \"af_xdp\""},
        Fault{"RequestsWithoutAServer", "[[feed]]\nformat = 'itch'\nlisten = '127.0.0.1:1'\nrerequest_ms = 9",
              "gw.toml:1: [[feed]] '127.0.0.1:1': rerequest_ms: needs rerequest"},
        Fault{"IexGapFillsByMulticast",
              "[[feed]]\nformat = 'iex-deep'\nlisten = '127.0.0.1:1'\nrerequest_tcp = '239.1.1.1:2'",
              "gw.toml:1: [[feed]] '127.0.0.1:1': rerequest_tcp '239.1.1.1:2' is not the address of a server"},
        Fault{"SnapWithoutToken",
              "state = '/tmp'\n[[feed]]\nformat = 'iex-deep'\nlisten = '127.0.0.1:1'\nsnap = '127.0.0.1:2'",
              "gw.toml:2: [[feed]] '127.0.0.1:1': snap: needs snap_token_file"},
        Fault{"TokenWithoutSnap", "[[feed]]\nformat = 'iex-deep'\nlisten = '127.0.0.1:1'\nsnap_token_file = 't'",
              "gw.toml:1: [[feed]] '127.0.0.1:1': snap_token_file: needs snap"},
        Fault{
            "DeepAndDeepPlusAtOneSnapServer",
            "state = '/tmp'\n[[feed]]\nname = 'a'\nformat = 'iex-deep'\nlisten = '127.0.0.1:1'\nsnap = '127.0.0.1:9'\n"
            "snap_token_file = 't'\n[[feed]]\nname = 'b'\nformat = 'iex-deep-plus'\nlisten = '127.0.0.1:2'\n"
            "snap = '127.0.0.1:9'\nsnap_token_file = 't'",
            "gw.toml:8: [[feed]] 'b': snap '127.0.0.1:9': is the server of feed 'a', which is iex-deep, and a request "
            "does not say which of both it is for: use a server for each"},
        Fault{"StartWithoutAServer", "[[feed]]\nformat = 'itch'\nlisten = '127.0.0.1:1'\nrerequest_start = false",
              "gw.toml:1: [[feed]] '127.0.0.1:1': rerequest_start: needs rerequest"},
        Fault{"BufferWithoutARebuild", "[[feed]]\nformat = 'itch'\nlisten = '127.0.0.1:1'\nrebuild_buffer = '1MiB'",
              "gw.toml:1: [[feed]] '127.0.0.1:1': rebuild_buffer: needs rebuild, glimpse or rebuild_from"},
        Fault{"RemovedFeedKey", "[[feed]]\nlisten = '127.0.0.1:1'\ngro = true",
              "gw.toml:3: key 'gro' of [[feed]] was removed; it is fixed to: on, where the kernel has it"},
        Fault{"RemovedSinkKey", "[[csv]]\npin = 3",
              "gw.toml:2: key 'pin' of [[csv]] was removed; it is fixed to: any CPU"},
        Fault{"WrongType", "[[feed]]\nchannel = 'one'",
              "gw.toml:2: key 'channel' of [[feed]] expects an integer from 0 to 65535, found the string 'one'"},
        Fault{"NumberForText", "[[ring]]\nname = 5",
              "gw.toml:2: key 'name' of [[ring]] expects a string, found the integer 5"},
        Fault{"ArrayForText", "log_level = ['info']",
              "gw.toml:1: key 'log_level' of the top level expects a string, found an array"},
        Fault{"FractionForInteger", "pin = 1.5",
              "gw.toml:1: key 'pin' of the top level expects an integer from 0 to 1023, found the number 1.5"},
        Fault{"TextForBoolean", "quiet = 'yes'",
              "gw.toml:1: key 'quiet' of the top level expects true or false, found the string 'yes'"},
        Fault{"NegativeInteger", "pin = -1",
              "gw.toml:1: key 'pin' of the top level expects an integer from 0 to 1023, found the integer -1"},
        Fault{"UnknownWord", "poll = 'busy'",
              "gw.toml:1: key 'poll' of the top level expects one of spin, block, adaptive, found 'busy'"},
        Fault{"RemovedReceivePath", "receive = 'io_uring'",
              "gw.toml:1: key 'receive' of the top level expects one of socket, af_xdp, found 'io_uring', which was "
              "removed: use socket"},
        Fault{"RemovedReceivePathOfAFeed", "[[feed]]\nreceive = 'io_uring'",
              "gw.toml:2: key 'receive' of [[feed]] expects one of socket, af_xdp, found 'io_uring', which was "
              "removed: use socket"},
        Fault{"NoPowerOfTwo", "[[ring]]\ncapacity = 1000",
              "gw.toml:2: key 'capacity' of [[ring]] expects a power of two, found 1000"},
        Fault{"NoPort", "[[feed]]\nlisten = '224.0.0.1'",
              "gw.toml:2: key 'listen' of [[feed]] expects an address and port like 224.0.105.2:51002, found "
              "address '224.0.0.1': ':PORT' is missing"},
        Fault{"PortTooLarge", "[[feed]]\nlisten = '224.0.0.1:70000'",
              "gw.toml:2: key 'listen' of [[feed]] expects an address and port like 224.0.105.2:51002, found "
              "address '224.0.0.1:70000': port 70000 is out of range; it must be 0 to 65535"},
        Fault{"NoDay", "[[feed]]\ndate = '2020-02-30'",
              "gw.toml:2: key 'date' of [[feed]] expects a day like 2020-01-30, found '2020-02-30'"},
        Fault{"BareDay", "[[feed]]\ndate = 2020-02-03",
              "gw.toml:2: key 'date' of [[feed]] expects a string, found a date without quotes"},
        Fault{"BadBytes", "[[csv]]\nrotate_bytes = '12 MB'",
              "gw.toml:2: key 'rotate_bytes' of [[csv]] expects bytes as an integer or like '64KiB', '256MiB', '2GiB', "
              "found the string '12 MB'"},
        Fault{"LongVenue", "[[feed]]\nvenue = 'NASDAQ-TOTALVIEW'",
              "gw.toml:2: key 'venue' of [[feed]] expects 1 to 8 characters, found 16 in 'NASDAQ-TOTALVIEW'"},
        Fault{"NameWithALineEnd", "[[feed]]\nname = \"x\\nerror\"",
              "gw.toml:2: key 'name' of [[feed]] expects printable ASCII characters, found byte 0x0A at position 2"},
        Fault{"VenueThatIsNotAscii", "[[feed]]\nvenue = 'é€'",
              "gw.toml:2: key 'venue' of [[feed]] expects printable ASCII characters, found byte 0xC3 at position 1"},
        Fault{"TableForArrayOfTables", "\n[feed]\nname = 'x'", "gw.toml:2: 'feed' must be written as [[feed]]"},
        Fault{"MissingListen", "[[feed]]\nname = 'x'", "gw.toml:1: [[feed]] 'x': key 'listen' is missing"},
        Fault{"MissingPath", "[[csv]]\nname = 'x'", "gw.toml:1: [[csv]] 'x': key 'path' is missing"},
        Fault{"CsvInAJournalsFolder", "[[csv]]\npath = '/x/j/a.csv'\n[[journal]]\nfolder = '/x/j/'",
              "gw.toml:1: [[csv]] 'csv': path '/x/j/a.csv' is in the folder of [[journal]] 'journal'; choose another "
              "one"},
        Fault{"CsvInTheCapturesFolder", "capture = '/x/c'\n[[csv]]\npath = '/x/y/../c/a.csv'",
              "gw.toml:2: [[csv]] 'csv': path '/x/y/../c/a.csv' is in the folder of the capture; choose another one"},
        Fault{"CsvNamedAsRenamedFile", "[[csv]]\npath = '/x/a.csv'\n[[csv]]\nname = 'b'\npath = '/x/a.csv.1'",
              "gw.toml:3: [[csv]] 'b': path '/x/a.csv.1' is a name for the renamed files of [[csv]] 'csv'; "
              "choose another one"},
        Fault{"CsvTwiceInOtherWords", "[[csv]]\npath = '/x/a.csv'\n[[csv]]\nname = 'b'\npath = '/x/y/.././a.csv'",
              "gw.toml:3: [[csv]] 'b': path '/x/y/.././a.csv' is the file of [[csv]] 'csv'; choose another one"},
        Fault{"JournalTwiceInOtherWords", "[[journal]]\nfolder = '/x/j'\n[[journal]]\nname = 'b'\nfolder = '/x//j/'",
              "gw.toml:3: [[journal]] 'b': path '/x//j/' is the folder of [[journal]] 'journal'; choose another one"},
        Fault{"UdpToItsOwnFeed", "[[feed]]\nname='a'\nlisten='224.0.1.9:1'\n[[udp]]\nto = '224.0.1.9:1'",
              "gw.toml:4: [[udp]] 'udp': it would send to feed 'a' of this gateway, at 224.0.1.9:1"},
        Fault{"UdpToAFeedOnAnyAddress", "[[feed]]\nname='a'\nlisten='0.0.0.0:1'\n[[udp]]\nto = '127.0.0.1:1'",
              "gw.toml:4: [[udp]] 'udp': it would send to feed 'a' of this gateway, at 127.0.0.1:1"},
        Fault{"CsvBesideItsQuotes", "[[csv]]\npath = '/x/a.csv'\n[[csv]]\nname = 'b'\npath = '/x/a.trades.csv'",
              "gw.toml:3: [[csv]] 'b': output '/x/a.trades.csv' is used twice"},
        Fault{"CsvOnAnotherFile", "[[csv]]\npath = '/etc/passwd'",
              "gw.toml:1: [[csv]] 'csv': path '/etc/passwd' is a file that is not a CSV file of millpond; move it away "
              "or choose another path"},
        Fault{"DepthBeyondADatagram", "[[feed]]\nformat = 'quotes'\nlisten = '127.0.0.1:1'\ndepth = 34",
              "gw.toml:4: key 'depth' of [[feed]] expects an integer from 0 to 33, found the integer 34"},
        Fault{"FullDepthOfQuotes", "[[feed]]\nformat = 'quotes'\nlisten = '127.0.0.1:1'\ndepth = 'full'",
              "gw.toml:4: key 'depth' of [[feed]] expects an integer from 0 to 33, because `quotes` datagrams have the "
              "best levels only, found 'full'"},
        Fault{
            "OrdersOfQuotes", "[[feed]]\nlisten = '127.0.0.1:1'\norders = true",
            "gw.toml:3: key 'orders' of [[feed]] is for format 'itch' or 'iex-deep-plus', but the format is 'quotes'"},
        Fault{"UdpToPort0", "[[udp]]\nto = '127.0.0.1:0'",
              "gw.toml:1: [[udp]] 'udp': to '127.0.0.1:0' has no port to send to"},
        Fault{"SourceOfAUnicastAddress", "[[feed]]\nlisten='127.0.0.1:1'\nsource='10.0.0.1'",
              "gw.toml:1: [[feed]] '127.0.0.1:1': source needs a multicast group, and 127.0.0.1:1 is none"},
        Fault{"SourceOfAUnicastLineB",
              "[[feed]]\nname='a'\nformat='itch'\nlisten='224.0.1.9:1'\nsource='10.0.0.1'\nline_b='127.0.0.1:2'",
              "gw.toml:1: [[feed]] 'a': source_b needs a multicast group, and 127.0.0.1:2 is none"},
        Fault{"RequiredXdpWithoutInterface",
              "receive='af_xdp'\nreceive_want='require'\n[[feed]]\nname='a'\nlisten='127.0.0.1:1'",
              "gw.toml:3: [[feed]] 'a': receive = \"af_xdp\" with receive_want = \"require\" needs interface"},
        Fault{"KeyOfAnotherFormat", "[[feed]]\nmax_orders=1024\nlisten='127.0.0.1:1'\nformat='quotes'",
              "gw.toml:2: key 'max_orders' of [[feed]] is for format 'itch' or 'iex-deep-plus', but the format is "
              "'quotes'"},
        Fault{"FalseKeyOfAnotherFormat", "[[feed]]\nlisten='127.0.0.1:1'\nformat='quotes'\nrebuild=false",
              "gw.toml:4: key 'rebuild' of [[feed]] is for format 'itch', but the format is 'quotes'"},
        Fault{"ServerOfAnotherFormat", "[[feed]]\nlisten='127.0.0.1:1'\nformat='miax-tom'\nrerequest='127.0.0.1:2'",
              "gw.toml:4: key 'rerequest' of [[feed]] is for format 'itch' or 'iex-tops' or 'iex-deep' or "
              "'iex-deep-plus', "
              "but the format is 'miax-tom'"},
        Fault{"DepthOutOfRange", "[[feed]]\nlisten='127.0.0.1:1'\nformat='itch'\ndepth = 51",
              "gw.toml:4: key 'depth' of [[feed]] expects an integer from 0 to 50, or 'full', found the integer 51"},
        Fault{"NegativeDepth", "[[feed]]\nlisten='127.0.0.1:1'\nformat='itch'\ndepth = -1",
              "gw.toml:4: key 'depth' of [[feed]] expects an integer from 0 to 50, or 'full', found the integer -1"},
        Fault{"DepthInAnotherWord", "[[feed]]\nlisten='127.0.0.1:1'\nformat='itch'\ndepth = 'all'",
              "gw.toml:4: key 'depth' of [[feed]] expects an integer from 0 to 50, or 'full', found the string 'all'"},
        Fault{"OrdersInNumbers", "[[feed]]\nlisten='127.0.0.1:1'\nformat='itch'\norders = 1",
              "gw.toml:4: key 'orders' of [[feed]] expects true or false, found the integer 1"},
        Fault{
            "OrdersOfAnotherFormat", "[[feed]]\nlisten='127.0.0.1:1'\nformat='quotes'\norders = true",
            "gw.toml:4: key 'orders' of [[feed]] is for format 'itch' or 'iex-deep-plus', but the format is 'quotes'"},
        Fault{"DepthOfAnotherFormat", "[[feed]]\nlisten='127.0.0.1:1'\nformat='bbo28'\ndepth = 5",
              "gw.toml:4: key 'depth' of [[feed]] is for format 'quotes' or 'itch' or 'iex-deep' or 'iex-deep-plus', "
              "but the format is 'bbo28'"},
        Fault{
            "RingTooSmallForOrders",
            "[[ring]]\ncapacity=1024\n[[feed]]\nlisten='127.0.0.1:1'\nformat='itch'\norders = true",
            "gw.toml:1: [[ring]]: capacity 1024 is too small for the depth or orders of its feeds: needs 8192 entries, "
            "10 ms of 200000 messages a second with up to 4 entries each"},
        Fault{"RingTooSmallForDepth",
              "[[ring]]\ncapacity=8192\n[[feed]]\nlisten='127.0.0.1:1'\nformat='itch'\norders=true\ndepth = 1",
              "gw.toml:1: [[ring]]: capacity 8192 is too small for the depth or orders of its feeds: needs 16384 "
              "entries, "
              "10 ms of 200000 messages a second with up to 7 entries each"},
        Fault{"UdpDeeperThanItsFeed",
              "[[feed]]\nname='a'\nlisten='127.0.0.1:1'\nformat='itch'\ndepth=5\n"
              "[[udp]]\nto='127.0.0.1:2'\nmode='every'\ndepth=6",
              "gw.toml:6: [[udp]] 'udp': needs 6 levels of a side, but feed 'a' sends 5: raise its depth"},
        Fault{"MqttDeeperThanItsFeed",
              "[[feed]]\nname='a'\nlisten='127.0.0.1:1'\nformat='itch'\ndepth=5\n[[mqtt]]\nbook_topic='b/{symbol}'",
              "gw.toml:6: [[mqtt]] 'mqtt': needs 10 levels of a side, but feed 'a' sends 5: raise its depth"},
        Fault{"UdpWithoutAFeedWithDepth",
              "[[feed]]\nname='a'\nlisten='127.0.0.1:1'\n[[udp]]\nto='127.0.0.1:2'\nmode='every'\ndepth=6",
              "gw.toml:4: [[udp]] 'udp': needs 6 levels of a side, but no feed of ring 'main' has depth"},
        Fault{"ReplaysWithoutAJournal", "[[tcp]]\nmax_replays=2",
              "gw.toml:1: [[tcp]] 'tcp': max_replays: ring 'main' has no [[journal]] to replay"},
        Fault{"ReplaysOfTheJournalOfAnotherRing",
              "[[ring]]\nname='a'\n[[ring]]\nname='b'\n[[journal]]\nfolder='/x/j'\nring='b'\n[[web]]\nmax_replays=2",
              "gw.toml:8: [[web]] 'web': max_replays: ring 'a' has no [[journal]] to replay"},
        Fault{"OutputOfABadKey", "[[tcp]]\n[[tcp]]\nname='b'\nlisten='127.0.0.1:x'",
              "gw.toml:4: key 'listen' of [[tcp]] expects an address and port like 224.0.105.2:51002, found address "
              "'127.0.0.1:x': port 'x' is not a number"},
        Fault{"MissingTo", "[[udp]]\nname = 'x'", "gw.toml:1: [[udp]] 'x': key 'to' is missing"},
        Fault{"UnknownRing", "[[tcp]]\nring = 'gold'", "gw.toml:1: [[tcp]] 'tcp': ring 'gold' does not exist"},
        Fault{"RingTwice", "[[ring]]\n[[ring]]", "gw.toml:2: [[ring]]: name 'main' is used twice"},
        Fault{"RingWithSlash", "[[ring]]\nname = 'a/b'",
              "gw.toml:1: [[ring]]: name 'a/b' may hold letters, digits, '-' and '_' only"},
        Fault{"AddressTwice", "[[feed]]\nname='a'\nlisten='127.0.0.1:1'\n[[feed]]\nname='b'\nlisten='127.0.0.1:1'",
              "gw.toml:4: [[feed]] 'b': address '127.0.0.1:1' is used twice"},
        Fault{"ChannelTwice", "[[feed]]\nchannel=1\nlisten='127.0.0.1:1'\n[[feed]]\nlisten='127.0.0.1:2'",
              "gw.toml:4: [[feed]] '127.0.0.1:2': channel '1' is used twice"},
        Fault{"SinkNameTwice", "[[tcp]]\n[[tcp]]\nlisten='127.0.0.1:1'",
              "gw.toml:2: [[tcp]] 'tcp': name 'tcp' is used twice"},
        Fault{"UnknownZone", "[[feed]]\nlisten='127.0.0.1:1'\ntimezone='America/Gotham'",
              "gw.toml:1: [[feed]] '127.0.0.1:1': timezone 'America/Gotham' is not in the zone database"}),
    [](const auto& fault) { return std::string{fault.param.name}; });

TEST(Config, AUdpSinkMaySendWhatAFeedReceivesOnAnotherInterface) {
    EXPECT_EQ(error_of("[[feed]]\nlisten='224.0.1.9:1'\ninterface='eth0'\n"
                       "[[udp]]\nto='224.0.1.9:1'\ninterface='eth1'\n"
                       "[[csv]]\npath='/x/a.csv'\n[[csv]]\nname='b'\npath='/x/a.csv.b1'\n"),
              "no error");
}

TEST(Config, BrokenSyntaxIsRefusedWithItsLine) {
    EXPECT_THAT(error_of("pin = 1\n[[feed\n"), StartsWith("gw.toml:2: "));
}

TEST(Config, AMissingFileIsNamedWithItsCause) {
    Config config;
    try {
        read_file("/nonexistent/gw.toml", config);
        FAIL() << "no error";
    } catch (const ConfigError& error) {
        EXPECT_STREQ(error.what(), "/nonexistent/gw.toml: cannot read: No such file or directory");
    }
}

TEST(Config, FlagsSayTheSameAsTheFile) {
    Config config;
    read_flag("poll", "block", config);
    read_flag("quiet", "true", config);
    read_table_flag("ring", "name=fast,capacity=2048,lock=true", config);
    read_table_flag("feed", "listen=127.0.0.1:9000,format=bbo28,channel=4,receive_buffer=1MiB", config);
    complete(config);
    EXPECT_TRUE(config.quiet);
    EXPECT_EQ(config.rings[0].poll, core::Poll::block);
    EXPECT_EQ(config.rings[0].capacity, 2048U);
    EXPECT_TRUE(config.rings[0].lock);
    EXPECT_EQ(&config.feeds[0].format.kind(), &bbo28::Settings::format());
    EXPECT_EQ(config.feeds[0].channel, 4U);
    EXPECT_EQ(config.feeds[0].receive_buffer, 1U << 20);
}

TEST(Config, ALatencyBoundIsATimeWithAUnit) {
    using std::chrono::nanoseconds;
    const auto bound = [](std::string_view value) {
        Config config;
        read_table_flag("ring", fmt::format("name=r,latency_warn={}", value), config);
        return config.rings[0].latency_warn;
    };
    EXPECT_EQ(bound("1000ns"), nanoseconds{1'000});
    EXPECT_EQ(bound("100us"), nanoseconds{100'000});
    EXPECT_EQ(bound("5ms"), nanoseconds{5'000'000});
    EXPECT_EQ(bound("60s"), nanoseconds{60'000'000'000});
    for (const std::string_view value :
         {"999ns", "61s", "0s", "-1s", "5", "us", "1.5ms", "1 s", "99999999999999999999s"}) {
        EXPECT_THAT(
            error_of(fmt::format("[[ring]]\nlatency_warn = '{}'", value)),
            HasSubstr(fmt::format("gw.toml:2: key 'latency_warn' of [[ring]] expects a time from 1us to 60s like "
                                  "'100us', '5ms' or '1s', found '{}'",
                                  value)));
    }
    EXPECT_THAT(error_of("[[ring]]\nlatency_warn = 5"), HasSubstr("or '1s', found the integer 5"));
}

TEST(Config, ASinkOfJsonLinesReplaysTheJournalOfItsRing) {
    const auto config = from_toml(R"(
        [[ring]]
        name = "a"
        [[ring]]
        name = "b"
        [[tcp]]
        ring = "b"
        [[web]]
        max_replays = 64
        [[journal]]
        name = "first"
        folder = "/x/a"
        [[journal]]
        name = "second"
        folder = "/x/b"
        ring = "b"
    )");
    const auto& sinks = config.sinks;
    const auto named = [&](std::string_view name) {
        return std::ranges::find(sinks, name, [](const auto& sink) { return sink.name(); });
    };
    EXPECT_EQ(named("tcp")->as<tcp::Settings>()->journal, "/x/b");
    EXPECT_EQ(named("tcp")->as<tcp::Settings>()->max_replays, std::nullopt);
    EXPECT_EQ(named("web")->as<web::Settings>()->journal, "/x/a");
    EXPECT_EQ(named("web")->as<web::Settings>()->max_replays, 64U);
}

TEST(Config, TheDepthOfAFeedIsANumberOrFull) {
    auto config = from_toml(R"(
        [[feed]]
        format = "itch"
        listen = "127.0.0.1:1"
        depth = 50
        orders = true
        [[feed]]
        format = "itch"
        listen = "127.0.0.1:2"
        depth = "full"
        [[feed]]
        format = "itch"
        listen = "127.0.0.1:3"
    )");
    read_table_flag("feed", "format=itch,listen=127.0.0.1:4,depth=full", config);
    read_table_flag("feed", "format=itch,listen=127.0.0.1:5,depth=10,orders=true", config);
    complete(config);
    const auto settings = [&](std::size_t feed) { return *config.feeds.at(feed).format.as<itch::Settings>(); };
    EXPECT_EQ(settings(0).depth, 50U);
    EXPECT_TRUE(settings(0).orders);
    EXPECT_EQ(settings(1).depth, feed::kFullDepth);
    EXPECT_FALSE(settings(1).orders);
    EXPECT_EQ(settings(2).depth, 0U);
    EXPECT_FALSE(settings(2).orders);
    EXPECT_EQ(settings(3).depth, feed::kFullDepth);
    EXPECT_EQ(settings(4).depth, 10U);
    EXPECT_TRUE(settings(4).orders);
}

template <class Read>
std::string flag_error(Read read) {
    Config config;
    try {
        read(config);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "no error";
}

TEST(Config, AFaultyFlagIsNamed) {
    EXPECT_EQ(flag_error([](Config& c) { read_flag("log_level", "loud", c); }),
              "--log-level: it expects one of debug, info, warning, error, found 'loud'");
    EXPECT_EQ(flag_error([](Config& c) { read_table_flag("feed", "listen=127.0.0.1:9000,itch", c); }),
              "--feed: expects KEY=VALUE,KEY=VALUE, found 'itch'");
    EXPECT_EQ(flag_error([](Config& c) { read_table_flag("feed", "chanel=1", c); }),
              "--feed: unknown key 'chanel' of [[feed]]; did you mean 'channel'?");
    EXPECT_EQ(flag_error([](Config& c) { read_table_flag("feed", "rebuild_seconds=9", c); }),
              "--feed: key 'rebuild_seconds' of [[feed]] was removed; it is fixed to: 10 minutes");
    EXPECT_EQ(
        flag_error([](Config& c) { read_table_flag("feed", "max_orders=9,format=quotes", c); }),
        "--feed: key 'max_orders' of [[feed]] is for format 'itch' or 'iex-deep-plus', but the format is 'quotes'");
    EXPECT_EQ(flag_error([](Config& c) { read_table_flag("feed", "channel=x", c); }),
              "--feed: key 'channel' of [[feed]] expects an integer from 0 to 65535, found 'x'");
    EXPECT_EQ(flag_error([](Config& c) { read_table_flag("feed", "name=a,name=b", c); }),
              "--feed: key 'name' is given twice");
}

TEST(Config, EveryKeyHasAHelpText) {
    for (const auto& key : feed_keys(builtin_feed_formats())) EXPECT_FALSE(key.help.empty()) << key.name;
    for (const auto& key : Schema<Config>::keys()) EXPECT_FALSE(key.help.empty()) << key.name;
}

TEST(Config, AllErrorsAreListedOneInEachLine) {
    const auto text = error_of(R"(
log_level = "loud"
colour = "red"
[[ring]]
capacity = 100
[[feed]]
listen = "127.0.0.1:1"
chanel = 1
[[feed]]
format = "bbo28"
[[feed]]
listen = "127.0.0.1:2"
ring = "none"
[[csv]]
path = "a.csv"
flush_ms = "soon"
[[csv]]
name = "b"
)");
    EXPECT_THAT(text, HasSubstr("gw.toml:2: key 'log_level'"));
    EXPECT_THAT(text, HasSubstr("gw.toml:3: "));
    EXPECT_THAT(text, HasSubstr("gw.toml:5: key 'capacity'"));
    EXPECT_THAT(text, HasSubstr("gw.toml:8: "));
    EXPECT_THAT(text, HasSubstr("gw.toml:16: key 'flush_ms'"));
    // Sections that cannot be read are not completed: only the errors above are reported, without consequential ones.
    EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
    Config config;
    EXPECT_THROW(read_toml(R"(
[[feed]]
listen = "127.0.0.1:1"
chanel = 1
[[feed]]
format = "bbo28"
[[feed]]
listen = "127.0.0.1:2"
ring = "none"
[[csv]]
name = "b"
)",
                           "gw.toml", config),
                 ConfigError);
    try {
        complete(config);
        FAIL();
    } catch (const ConfigError& error) {
        EXPECT_STREQ(error.what(),
                     "gw.toml:5: [[feed]]: key 'listen' is missing\n"
                     "gw.toml:7: [[feed]] '127.0.0.1:2': ring 'none' does not exist\n"
                     "gw.toml:10: [[csv]] 'b': key 'path' is missing");
    }
}

TEST(Config, OutputsOfASinkWithABadKeyAreComparedToo) {
    Config config;
    EXPECT_THROW(read_toml("[[csv]]\npath='/x/a.csv'\n[[csv]]\nname='b'\npath='/x/a.csv'\nkeep='all'\n"
                           "[[tcp]]\n[[tcp]]\nname='c'\nlisten='127.0.0.1:x'",
                           "gw.toml", config),
                 ConfigError);
    try {
        complete(config);
        FAIL();
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), StartsWith("gw.toml:3: [[csv]] 'b': output '/x/a.csv' is used twice\n"));
        EXPECT_THAT(error.what(), HasSubstr("gw.toml:3: [[csv]] 'b': path '/x/a.csv' is the file of [[csv]] 'csv'"));
        EXPECT_THAT(error.what(), Not(HasSubstr("[[tcp]]"))) << "its address is unknown";
    }
}

TEST(Config, AKeyThatCannotBeReadHidesNoErrorOfAnotherKey) {
    Config config;
    EXPECT_THROW(read_toml(R"(
[[ring]]
name = 5
[[ring]]
capacity = "large"
[[ring]]
[[feed]]
name = "a"
listen = "127.0.0.1:1"
channel = "one"
interface = "no-such-interface"
timezone = "Mars"
[[feed]]
name = "a"
listen = "127.0.0.1:1"
interface = "no-such-interface"
ring = "may-exist"
[[csv]]
rotate_bytes = "a lot"
[[tcp]]
name = "t"
listen = "127.0.0.1:2"
[[tcp]]
name = "t"
listen = "127.0.0.1:2"
[[tcp]]
name = "t"
max_clients = "few"
)",
                           "gw.toml", config),
                 ConfigError);
    const auto errors_of = [](auto&& check) -> std::string {
        try {
            check();
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "none";
    };
    EXPECT_EQ(errors_of([&] { complete(config); }),
              "gw.toml:6: [[ring]]: name 'main' is used twice\n"
              "gw.toml:7: [[feed]] 'a': timezone 'Mars' is not in the zone database\n"
              "gw.toml:13: [[feed]] 'a': name 'a' is used twice\n"
              "gw.toml:13: [[feed]] 'a': address '127.0.0.1:1%no-such-interface' is used twice\n"
              "gw.toml:23: [[tcp]] 't': name 't' is used twice\n"
              "gw.toml:23: [[tcp]] 't': output '127.0.0.1:2' is used twice\n"
              "gw.toml:26: [[tcp]] 't': name 't' is used twice");
    EXPECT_THAT(errors_of([&] { check_start(config); }),
                HasSubstr("gw.toml:7: [[feed]] 'a': interface 'no-such-interface' does not exist"));
}

TEST(Config, WhatAStartNeedsOfTheMachineIsCheckedWithoutTakingIt) {
    const auto config = from_toml(R"(
metrics = "192.0.2.1:9464"
capture = "/proc/capture"
[[feed]]
listen = "239.1.1.1:1"
interface = "no-such-interface"
format = "miax-tom"
symbols = "/nonexistent/symbols"
[[csv]]
path = "/nonexistent/quotes.csv"
[[tcp]]
listen = "192.0.2.1:9100"
token_file = "/nonexistent/token"
[[web]]
listen = "192.0.2.1:9465"
)");
    try {
        check_start(config);
        FAIL();
    } catch (const ConfigError& error) {
        const std::string text = error.what();
        EXPECT_THAT(text, HasSubstr("metrics: cannot listen on 192.0.2.1:9464"));
        EXPECT_THAT(text, HasSubstr("gw.toml:4: [[feed]] '239.1.1.1:1': interface 'no-such-interface' does not exist"));
        EXPECT_THAT(text, HasSubstr("cannot read '/nonexistent/symbols'"));
        EXPECT_THAT(text,
                    HasSubstr("[[csv]] 'csv': path '/nonexistent/quotes.csv': folder '/nonexistent': No such file"));
        EXPECT_THAT(text, HasSubstr("[[tcp]] 'tcp': token file '/nonexistent/token'"));
        EXPECT_THAT(text, HasSubstr("[[web]] 'web': cannot listen on 192.0.2.1:9465"));
    }
}

TEST(Config, AListenerThatIsOpenToOtherMachinesIsAWarning) {
    const auto warnings_of = [](std::string_view text) { return warnings(from_toml(text)); };
    EXPECT_THAT(warnings_of("[[web]]\n[[tcp]]\nlisten = '[::1]:1'\n"), ::testing::IsEmpty());
    EXPECT_THAT(
        warnings_of("metrics = '0.0.0.0:9464'\n[[web]]\nlisten = '0.0.0.0:1'\n[[tcp]]\nlisten = '10.0.0.1:2'\n"),
        ::testing::ElementsAre(
            "metrics: 0.0.0.0:9464 is open to other machines without a token and without TLS: any client is admitted",
            HasSubstr("[[tcp]] 'tcp': 10.0.0.1:2 is open to other machines without a token and without TLS"),
            HasSubstr("[[web]] 'web': 0.0.0.0:1 is open to other machines without a token and without TLS")));
    EXPECT_THAT(warnings_of("metrics = 'off'\n[[tcp]]\nlisten = '0.0.0.0:2'\ntoken_file = 't'\n"),
                ::testing::ElementsAre(HasSubstr("without TLS: the token and all data can be read on the network")));
    EXPECT_THAT(warnings_of("[[tcp]]\nlisten = '0.0.0.0:2'\ntls_certificate = 'c'\ntls_key = 'k'\n"),
                ::testing::ElementsAre(HasSubstr("without a token: any client is admitted")));
    const std::string with_tls = "[[tcp]]\nlisten = '0.0.0.0:2'\ntls_certificate = 'c'\ntls_key = 'k'\n";
    EXPECT_THAT(warnings_of(with_tls + "token_env = 'T'\n"), ::testing::IsEmpty());
    EXPECT_THAT(warnings_of(with_tls + "tls_client_ca = 'a'\n"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace millpond::gateway
