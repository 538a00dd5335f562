#include "gateway/receive/composites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "service/out_of_memory.hpp"

namespace millpond::gateway {

bool Composites::has_some(const std::string& ring, const Config& config) noexcept {
    return std::ranges::any_of(config.composites, [&](const auto& one) { return one.ring == ring; });
}

Composites::Composites(const std::string& ring, const Config& config, feed::InstrumentTable& instruments,
                       std::pmr::memory_resource* memory)
    : instruments_(instruments), names_(SymbolNames::read(config.symbols.file)) {
    for (const auto& wanted : config.composites) {
        if (wanted.ring != ring) continue;
        std::map<std::string, std::uint16_t, std::less<>> homes;
        market::Composite::Options options{.channel = *wanted.channel,
                                           .max_instruments = static_cast<std::uint32_t>(instruments.capacity())};
        for (const auto& feed : config.feeds) {
            if (std::ranges::find(wanted.feeds, feed.name) == wanted.feeds.end()) continue;
            options.channels |= std::uint64_t{1} << *feed.channel;
            auto& home = homes.try_emplace(venue_of(feed), *feed.channel).first->second;
            home = std::min(home, *feed.channel);
        }
        options.max_members = static_cast<std::uint32_t>(homes.size());
        service::need_memory(fmt::format("composite '{}' of ring '{}'", wanted.venue, ring),
                             [&] { all_.emplace_back(wanted.venue, std::move(homes), options, memory); });
    }
    // Instruments that the file lists are members before their venue has sent anything of them.
    for (const auto& entry : names_.entries()) {
        for (auto& one : all_) add(one, entry.venue, entry.name, feed::kNoInstrument, feed::kDefaultDecimals);
    }
    for (feed::InstrumentId id = 0; id < instruments.size(); ++id) add(id);
}

void Composites::add(feed::InstrumentId id) noexcept {
    const auto venue = instruments_.venue(id);
    const auto symbol = instruments_.symbol(id);
    const auto* const name = names_.find(venue, symbol);
    if (name == nullptr) return;
    for (auto& one : all_) add(one, venue, *name, id, instruments_.decimals(id));
}

void Composites::add(One& one, const feed::Venue& venue, const feed::Symbol& name, feed::InstrumentId member,
                     unsigned decimals) noexcept {
    const auto home = one.homes.find(venue.view());
    if (home == one.homes.end()) return;
    const auto symbol = instruments_.find_or_add(feed::Venue{one.venue}, name, decimals);
    if (symbol == feed::kNoInstrument) return;  // counted by the table
    static_cast<void>(one.composite.add(symbol, member, home->second, core::utc_nanos()));
}

}  // namespace millpond::gateway
