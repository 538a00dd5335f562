#include "gateway/receive/composites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "service/out_of_memory.hpp"

namespace millpond::gateway {

bool Composites::has_some(const std::string& ring, const Config& config) noexcept {
    return std::ranges::any_of(config.composites, [&](const auto& one) { return one.ring == ring; });
}

Composites::Composites(const std::string& ring, const Config& config, feed::InstrumentTable& instruments,
                       const market::QuoteBoard& board, std::pmr::memory_resource* memory)
    : instruments_(instruments), names_(SymbolNames::read(config)) {
    for (const auto& wanted : config.composites) {
        if (wanted.ring != ring) continue;
        std::vector<feed::Venue> venues;
        market::Composite::Options options{.channel = *wanted.channel,
                                           .max_instruments = static_cast<std::uint32_t>(instruments.capacity()),
                                           .depth = wanted.depth,
                                           .board = &board};
        for (const auto& feed : config.feeds) {
            if (std::ranges::find(wanted.feeds, feed.name) == wanted.feeds.end()) continue;
            const feed::Venue venue{venue_of(feed)};
            const auto index = static_cast<std::size_t>(std::ranges::find(venues, venue) - venues.begin());
            if (index == venues.size()) {
                venues.push_back(venue);
                options.venues.push_back(0);
            }
            options.venues[index] |= std::uint64_t{1} << *feed.channel;
        }
        service::need_memory(fmt::format("composite '{}' of ring '{}'", wanted.venue, ring),
                             [&] { all_.emplace_back(wanted.venue, std::move(venues), options, memory); });
    }
    for (feed::InstrumentId id = 0; id < instruments.size(); ++id) add(id);
}

void Composites::add(feed::InstrumentId id) noexcept {
    const auto symbol = instruments_.symbol(id);
    const auto* const name = names_.find(instruments_.venue(id), symbol);
    if (name == nullptr) return;
    for (auto& one : all_) add(one, *name, id);
}

void Composites::add(One& one, const feed::Symbol& name, feed::InstrumentId member) noexcept {
    const auto venue = std::ranges::find(one.venues, instruments_.venue(member));
    if (venue == one.venues.end()) return;
    const auto symbol = instruments_.find_or_add(feed::Venue{one.venue}, name, instruments_.decimals(member));
    if (symbol == feed::kNoInstrument) return;  // counted by the table
    static_cast<void>(
        one.composite.add(symbol, member, static_cast<std::size_t>(venue - one.venues.begin()), core::utc_nanos()));
}

}  // namespace millpond::gateway
