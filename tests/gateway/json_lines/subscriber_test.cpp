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

TEST(Subscriber, InstrumentsThatAreOwedAgainAndAgainTakeTurns) {
    constexpr std::size_t kInstruments = 4'000;  // several texts
    LineLog log{8'192};
    Standing standing;
    for (std::size_t i = 0; i < kInstruments; ++i) standing.name(feed::Symbol{std::to_string(i)});
    Subscriber subscriber{Delivery::conflate, log, standing};
    std::vector<std::size_t> sent(kInstruments);
    std::uint64_t number = 0;
    constexpr std::size_t kRounds = 60;
    for (std::size_t round = 0; round < kRounds; ++round) {
        for (feed::InstrumentId id = 0; id < kInstruments; ++id) {
            log.append(LineKind::quote, id);
            standing.put(quote_of(id, 1), ++number, log.end() - 1);
        }
        subscriber.leave_behind(log.end());
        subscriber.fill(0);
        for (auto text = subscriber.text(); !text.empty(); text.remove_prefix(text.find('\n') + 1)) {
            constexpr std::string_view kKey = R"("symbol":")";
            const auto begin = text.find(kKey) + kKey.size();
            ++sent[std::stoul(std::string{text.substr(begin, text.find('"', begin) - begin)})];
        }
        subscriber.text_went_out(subscriber.text().size());
    }
    const auto [least, most] = std::minmax_element(sent.begin(), sent.end());
    EXPECT_GE(*least, 2U);
    EXPECT_LE(*most, *least + 1);
    EXPECT_TRUE(subscriber.account().closes());
}

}  // namespace
}  // namespace millpond::gateway::json_lines
