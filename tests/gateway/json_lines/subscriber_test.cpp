#include "gateway/json_lines/subscriber.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>

#include "tests/gateway/sinks/events.hpp"

namespace millpond::gateway::json_lines {
namespace {

TEST(Subscriber, InstrumentsThatBecomePendingAgainAndAgainTakeTurns) {
    constexpr std::size_t kInstruments = 4'000;  // several texts
    LineLog log{8'192};
    Snapshot snapshot;
    for (std::size_t i = 0; i < kInstruments; ++i)
        snapshot.name({}, feed::Symbol{std::to_string(i)}, feed::kDefaultDecimals);
    DepthBooks books;
    Subscriber subscriber{Delivery::conflate, {log, snapshot, books}};
    std::vector<std::size_t> sent(kInstruments);
    std::uint64_t number = 0;
    constexpr std::size_t kRounds = 60;
    for (std::size_t round = 0; round < kRounds; ++round) {
        for (feed::InstrumentId id = 0; id < kInstruments; ++id) {
            log.append(LineKind::quote, id);
            snapshot.put(quote_of(id, 1), ++number, log.end() - 1);
        }
        subscriber.drop_before(log.end());
        subscriber.fill(0);
        for (auto text = subscriber.text(); !text.empty(); text.remove_prefix(text.find('\n') + 1)) {
            constexpr std::string_view kKey = R"("symbol":")";
            const auto begin = text.find(kKey) + kKey.size();
            ++sent[std::stoul(std::string{text.substr(begin, text.find('"', begin) - begin)})];
        }
        subscriber.on_text_sent(subscriber.text().size());
    }
    const auto [min, max] = std::minmax_element(sent.begin(), sent.end());
    EXPECT_GE(*min, 2U);
    EXPECT_LE(*max, *min + 1);
    EXPECT_TRUE(subscriber.account().closes());
}

}  // namespace
}  // namespace millpond::gateway::json_lines
