#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "gateway/feeds/bbo28/settings.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/symbol_names.hpp"
#include "gateway/settings/value.hpp"
#include "tests/gateway/settings/config_text.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::gateway {
namespace {

Config two_feeds() {
    Config config;
    for (const auto* venue : {"A", "B"}) {
        auto& feed = config.feeds.emplace_back();
        feed.use<bbo28::Settings>();
        feed.name = venue;
        feed.venue = venue;
        feed.listen = net::SocketAddress::parse("127.0.0.1:0");
    }
    config.composites.emplace_back();
    return config;
}

std::string error_of(const std::function<void(Config&)>& change) {
    auto config = two_feeds();
    change(config);
    try {
        complete(config);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "no error";
}

TEST(CompositeConfig, TakesAllFeedsOfItsRingAndTheNextChannel) {
    auto config = two_feeds();
    complete(config);
    const auto& composite = config.composites.front();
    EXPECT_EQ(composite.ring, "main");
    EXPECT_EQ(composite.feeds, (std::vector<std::string>{"A", "B"}));
    EXPECT_EQ(composite.channel, 2);
}

TEST(CompositeConfig, NamesWhatCannotTakePart) {
    using testing::HasSubstr;
    EXPECT_THAT(error_of([](Config& c) { c.feeds.pop_back(); }), HasSubstr("[[composite]] 'BEST': needs at least two"));
    EXPECT_THAT(error_of([](Config& c) { c.composites[0].feeds = {"A", "Z"}; }), HasSubstr("feed 'Z' does not exist"));
    EXPECT_THAT(error_of([](Config& c) { c.composites[0].feeds = {"A", "A"}; }), HasSubstr("feed 'A' is named twice"));
    EXPECT_THAT(error_of([](Config& c) { c.feeds[1].venue = ""; }), HasSubstr("feed 'B' has no venue"));
    EXPECT_THAT(error_of([](Config& c) { c.feeds[1].venue = "A"; }), HasSubstr("all its feeds have the venue 'A'"));
    EXPECT_THAT(error_of([](Config& c) { c.feeds[1].venue = "BEST"; }), HasSubstr("has the venue 'BEST' of"));
    EXPECT_THAT(error_of([](Config& c) { c.feeds[1].channel = 64; }), HasSubstr("has channel 64; a composite needs"));
    EXPECT_THAT(error_of([](Config& c) { c.composites[0].channel = 1; }), HasSubstr("channel '1' is used twice"));
    EXPECT_THAT(error_of([](Config& c) { c.composites.emplace_back(); }), HasSubstr("venue 'BEST' is used twice"));
    EXPECT_THAT(error_of([](Config& c) { c.composites[0].ring = "x"; }), HasSubstr("ring 'x' does not exist"));
    EXPECT_THAT(error_of([](Config& c) { c.composites[0].depth = 3; }), HasSubstr("has depth 0, the composite 3"));
    EXPECT_THAT(error_of([](Config& c) {
                    for (auto& feed : c.feeds) feed.use<itch::Settings>().depth = feed::kFullDepth;
                    c.composites[0].depth = 3;
                }),
                HasSubstr("has depth \"full\"; levels of a composite need a number, at least 3"));
    EXPECT_THAT(error_of([](Config& c) {
                    c.composites.clear();
                    c.symbols.file = "names.csv";
                }),
                HasSubstr("[symbols]: only with a [[composite]]"));
}

TEST(CompositeConfig, ItsTablesAreReadFromAFile) {
    const auto config = from_toml(R"(
        [[feed]]
        name = "a"
        format = "bbo28"
        venue = "A"
        listen = "127.0.0.1:1"
        [[feed]]
        name = "b"
        format = "bbo28"
        venue = "B"
        listen = "127.0.0.1:2"
        [[composite]]
        venue = "NBBO"
        ring = "main"
        feeds = ["b", "a"]
        channel = 9
        [symbols]
        file = "names.csv")");
    const auto& composite = config.composites.at(0);
    EXPECT_EQ(composite.venue, "NBBO");
    EXPECT_EQ(composite.feeds, (std::vector<std::string>{"b", "a"}));
    EXPECT_EQ(composite.channel, 9);
    EXPECT_EQ(config.symbols.file, "names.csv");
    EXPECT_EQ(gateway::error_of("[symbols]\nfil = \"x\""),
              "gw.toml:2: unknown key 'fil' of [symbols]; did you mean 'file'?");
}

TEST(SymbolNames, AFileWithAVenueOfNoFeedIsRefused) {
    const millpond::test::ScratchFile file{millpond::test::scratch_name("symbols"), ""};
    std::ofstream{file.path()} << "A,BRKB,BRK.B\nX,FOO,BRK.B\n";
    auto config = two_feeds();
    config.symbols.file = file.path();
    complete(config);
    try {
        static_cast<void>(SymbolNames::read(config));
        FAIL();
    } catch (const ConfigError& error) {
        EXPECT_EQ(error.what(), file.path() + ": venue 'X' of 'BRK.B' is that of no feed of a [[composite]]");
    }
    std::ofstream{file.path()} << "A,BRKB,BRK.B\n";
    const feed::Symbol symbol{"BRKB"};
    EXPECT_EQ(*SymbolNames::read(config).find(feed::Venue{"A"}, symbol), feed::Symbol{"BRK.B"});
}

TEST(SymbolNames, EveryVenueHasOneSymbolOfAName) {
    const auto names = SymbolNames::parse("# comment\nA, BRKB ,BRK.B\n\nB,BRK/B,BRK.B\r\n", "f");
    const feed::Symbol symbol{"BRKB"};
    EXPECT_EQ(*names.find(feed::Venue{"A"}, symbol), feed::Symbol{"BRK.B"});
    EXPECT_EQ(*names.find(feed::Venue{"C"}, symbol), symbol);
    const feed::Symbol other{"BRK.B"};
    EXPECT_EQ(names.find(feed::Venue{"A"}, other), nullptr);
    const auto error_in = [](std::string_view text) -> std::string {
        try {
            static_cast<void>(SymbolNames::parse(text, "f"));
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(error_in("A,X,N\nA,Y,N\n"), "f:2: another symbol of venue A has the name 'N'");
    EXPECT_EQ(error_in("A,X,N\nA,X,M\n"), "f:2: symbol 'X' of venue A has a name already");
    EXPECT_EQ(error_in("A,X\n"), "f:1: expects venue,symbol,name");
    EXPECT_EQ(error_in("A,X,N,Z\n"), "f:1: expects venue,symbol,name");
    EXPECT_EQ(error_in("A,,N\n"), "f:1: no symbol");
    EXPECT_EQ(error_in("LONGVENUE,X,N\n"), "f:1: venue 'LONGVENUE' is longer than 8 characters");
    EXPECT_EQ(error_in("A,X,\x01N\n"), "f:1: name has unprintable characters");
}

}  // namespace
}  // namespace millpond::gateway
