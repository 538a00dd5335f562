#include "gateway/sinks/udp/sent_levels.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <vector>

namespace millpond::gateway::udp {
namespace {

using Level = SentLevels::Level;

void copy_best(market::Book::Levels from, std::uint32_t depth, std::vector<Level>& into) {
    into.clear();
    for (const auto& level : from | std::views::take(depth))
        into.push_back({.price = level.price, .size = level.size, .orders = level.orders});
}

/// Adds the changes that turn the old levels of a side into the new ones. Both begin with the best one. Old levels that
/// better ones push behind the depth are not changes, because receivers cut them off.
template <class IsBetter>
void add_changes(const std::vector<Level>& old_levels, const std::vector<Level>& new_levels, std::uint32_t depth,
                 IsBetter is_better, std::vector<Level>& changes) {
    auto old = old_levels.begin();
    for (const auto& level : new_levels) {
        for (; old != old_levels.end() && is_better(old->price, level.price); ++old)
            changes.push_back({.price = old->price});
        if (old != old_levels.end() && old->price == level.price) {
            if (*old++ == level) continue;
        }
        changes.push_back(level);
    }
    if (new_levels.size() == depth) return;
    for (; old != old_levels.end(); ++old) changes.push_back({.price = old->price});
}

}  // namespace

bool SentLevels::follow(const market::Book& book, std::uint32_t depth, Scratch& scratch, Entry& entry) {
    copy_best(book.bids(), depth, scratch.bids);
    copy_best(book.asks(), depth, scratch.asks);
    scratch.bid_changes.clear();
    scratch.ask_changes.clear();
    add_changes(bids_, scratch.bids, depth, std::greater{}, scratch.bid_changes);
    add_changes(asks_, scratch.asks, depth, std::less{}, scratch.ask_changes);
    bids_.swap(scratch.bids);
    asks_.swap(scratch.asks);
    const bool is_incomplete = !book.complete();
    const auto changed = scratch.bid_changes.size() + scratch.ask_changes.size();
    // A book becomes complete by a snapshot only. One that is shorter than the changes is better, too.
    const bool all = !is_sent_ || is_incomplete != is_incomplete_ || changed > bids_.size() + asks_.size();
    is_sent_ = true;
    is_incomplete_ = is_incomplete;
    if (all) return repeat(entry);
    entry.bids = scratch.bid_changes;
    entry.asks = scratch.ask_changes;
    entry.levels_incomplete = is_incomplete;
    return changed != 0;
}

bool SentLevels::repeat(Entry& entry) const noexcept {
    if (!is_sent_) return false;
    entry.bids = bids_;
    entry.asks = asks_;
    entry.all_levels = true;
    entry.levels_incomplete = is_incomplete_;
    return true;
}

}  // namespace millpond::gateway::udp
