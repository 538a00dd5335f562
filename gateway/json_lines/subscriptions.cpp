#include "gateway/json_lines/subscriptions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millpond::gateway::json_lines {

std::string WantedSymbols::apply(const Request& request) {
    for (const auto& symbol : request.subscribe) {
        if (symbol == "*") {
            everything = true;
            everything_depth = request.depth;
            continue;
        }
        if (everything) {
            everything = false;
            everything_depth = {};
            symbols.clear();
        }
        symbols.insert_or_assign(symbol, request.depth);
    }
    for (const auto& symbol : request.unsubscribe) {
        if (symbol == "*") {
            symbols.clear();
            everything = false;
            everything_depth = {};
        } else if (everything) {
            return "all instruments are subscribed: unsubscribe [\"*\"] first, then subscribe to symbols";
        }
        symbols.erase(symbol);
    }
    return {};
}

Subscriptions::~Subscriptions() {
    set_everything({});
    while (!depths_.empty()) set_depth(depths_.begin()->first, {});
}

Depth Subscriptions::depth(feed::InstrumentId id) const noexcept {
    if (wanted_.everything) return excluded_.contains(id) ? Depth{} : wanted_.everything_depth;
    const auto found = depths_.find(id);
    return found == depths_.end() ? Depth{} : found->second;
}

void Subscriptions::set_everything(Depth depth) {
    if (demanded_of_all_.is_on()) books_.demand().remove(feed::kNoInstrument, demanded_of_all_);
    if (depth.is_on()) books_.demand().add(feed::kNoInstrument, depth);
    excluded_.clear();
    demanded_of_all_ = depth;
}

void Subscriptions::set_depth(feed::InstrumentId id, Depth depth) {
    if (const auto found = depths_.find(id); found != depths_.end()) {
        books_.demand().remove(id, found->second);
        depths_.erase(found);
    }
    if (!depth.is_on()) return;
    books_.demand().add(id, depth);
    depths_.emplace(id, depth);
}

void Subscriptions::check(const Request& request, Delivery mode) const {
    if (wanted_.symbols.size() + request.subscribe.size() > WantedSymbols::kMaxSymbols) {
        throw RequestError(fmt::format("a client may subscribe to at most {} symbols; [\"*\"] subscribes to all",
                                       WantedSymbols::kMaxSymbols));
    }
    const auto has_orders = [this] {
        return wanted_.everything_depth.orders ||
               std::ranges::any_of(wanted_.symbols, [](const auto& one) { return one.second.orders; });
    };
    if (request.mode.value_or(mode) == Delivery::conflate && (request.depth.orders || (request.mode && has_orders()))) {
        throw RequestError("'orders' needs the mode \"every\"");
    }
    if (!request.depth.is_on()) return;
    if (request.depth.levels != 0 && entitlement_ == Entitlement::quotes)
        throw RequestError("'depth': clients of this sink may not have levels");
    if (request.depth.orders && entitlement_ != Entitlement::orders)
        throw RequestError("'orders': clients of this sink may not have orders");
    std::set<std::string_view> unknown{request.subscribe.begin(), request.subscribe.end()};
    const auto requested = unknown;
    for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) {
        const auto symbol = snapshot_.symbol(id);
        if (!requested.contains(symbol)) continue;
        const auto channel = books_.has_book(id) ? books_.channel(id) : snapshot_.channel(id);
        if (!channel) continue;
        check_depth(symbol, books_.channel_depth(*channel), request.depth);
        unknown.erase(symbol);
    }
    for (const auto symbol : unknown) check_depth(symbol, books_.common_depth(), request.depth);
}

void Subscriptions::check_depth(std::string_view symbol, market::ChannelDepth sent, Depth wanted) {
    if (wanted.levels != 0 && sent.depth == 0) {
        throw RequestError(fmt::format("'depth': the feed of {} sends no levels", symbol));
    }
    if (wanted.levels > sent.depth) {
        throw RequestError(fmt::format("'depth': the feed of {} sends {} levels of a side", symbol, sent.depth));
    }
    if (wanted.orders && !sent.orders) {
        throw RequestError(fmt::format("'orders': the feed of {} sends no orders", symbol));
    }
}

Subscriptions::Change Subscriptions::apply(const Request& request) {
    Change change;
    if (request.subscribe.empty() && request.unsubscribe.empty()) return change;
    const bool had_everything = wanted_.everything;
    change.refusal = wanted_.apply(request);
    const std::set<std::string_view> requested{request.subscribe.begin(), request.subscribe.end()};
    if (wanted_.everything) {
        if (!requested.contains("*")) return change;
        set_everything(wanted_.everything_depth);
        while (!depths_.empty()) set_depth(depths_.begin()->first, {});
        for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) {
            change.added.push_back(id);
            if (wanted_.everything_depth.is_on()) change.books.push_back(id);
        }
        return change;
    }
    if (had_everything) {
        set_everything({});
        ids_.clear();
    }
    for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) {
        const auto found = wanted_.symbols.find(snapshot_.symbol(id));
        const bool is_wanted = found != wanted_.symbols.end();
        if (!is_wanted) ids_.erase(id);
        if (is_wanted && ids_.insert(id)) change.added.push_back(id);
        if (is_wanted && !requested.contains(found->first)) continue;
        set_depth(id, is_wanted ? found->second : Depth{});
        if (is_wanted && found->second.is_on()) change.books.push_back(id);
    }
    return change;
}

void Subscriptions::replace(WantedSymbols wanted) {
    while (!depths_.empty()) set_depth(depths_.begin()->first, {});
    ids_.clear();
    wanted_ = std::move(wanted);
    set_everything(wanted_.everything_depth);
    for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) add_instrument(id);
}

bool Subscriptions::add_instrument(feed::InstrumentId id) {
    if (wanted_.everything) return wanted_.everything_depth.is_on();
    const auto found = wanted_.symbols.find(snapshot_.symbol(id));
    if (found == wanted_.symbols.end()) return false;
    ids_.insert(id);
    set_depth(id, found->second);
    return found->second.is_on();
}

void Subscriptions::drop_depth(feed::InstrumentId id) {
    if (wanted_.everything) {
        excluded_.insert(id);
    } else {
        set_depth(id, {});
    }
}

std::vector<std::string_view> Subscriptions::unknown(const Request& request) const {
    std::set<std::string_view> unknown{request.subscribe.begin(), request.subscribe.end()};
    unknown.erase("*");
    for (feed::InstrumentId id = 0; id < snapshot_.size() && !unknown.empty(); ++id)
        unknown.erase(snapshot_.symbol(id));
    return {unknown.begin(), unknown.end()};
}

}  // namespace millpond::gateway::json_lines
