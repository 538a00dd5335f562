#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/market/quote_board.hpp>

#include "gateway/json_lines/depth.hpp"
#include "gateway/json_lines/depth_books.hpp"
#include "gateway/json_lines/id_set.hpp"
#include "gateway/json_lines/request.hpp"
#include "gateway/json_lines/snapshot.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// The symbols that a client has subscribed to. A new client gets everything, without books.
struct WantedSymbols {
    bool everything{true};
    Depth everything_depth{};                             ///< If `everything`.
    std::map<std::string, Depth, std::less<>> symbols{};  ///< Otherwise.

    /// Applies `subscribe` and `unsubscribe` of a request. Returns why a part of it was not applied; empty if all was.
    [[nodiscard]] std::string apply(const Request& request);

    static constexpr std::size_t kMaxSymbols = 10'000;
};

/// The subscriptions of one client for the instruments of a sink. Adds the client's demand to the sink's books.
///
/// Threads: one.
/// Memory:  two bits for each instrument, 60 bytes for each symbol with depth.
class Subscriptions {
public:
    /// Everything. Both must outlive the object.
    Subscriptions(const Snapshot& snapshot, DepthBooks& books, Entitlement entitlement) noexcept
        : snapshot_(snapshot), books_(books), entitlement_(entitlement) {}
    ~Subscriptions();
    Subscriptions(const Subscriptions&) = delete;
    Subscriptions& operator=(const Subscriptions&) = delete;

    [[nodiscard]] bool wants(feed::InstrumentId id) const noexcept {
        return wanted_.everything || id == feed::kNoInstrument || ids_.contains(id);
    }
    [[nodiscard]] Depth depth(feed::InstrumentId id) const noexcept;
    [[nodiscard]] bool has_depth() const noexcept { return wanted_.everything_depth.is_on() || !depths_.empty(); }
    /// Whether it is every instrument without books.
    [[nodiscard]] bool is_plain() const noexcept { return wanted_.everything && !wanted_.everything_depth.is_on(); }
    [[nodiscard]] const WantedSymbols& symbols() const noexcept { return wanted_; }

    /// Throws RequestError if the client may not have what the request wants, if the feed sends less, or if the mode
    /// does not fit. mode: the client's present one.
    void check(const Request& request, Delivery mode) const;
    /// Throws RequestError if a feed sends less than the client wants.
    static void check_depth(std::string_view symbol, market::ChannelDepth sent, Depth wanted);

    /// What the client needs because of a change.
    struct Change {
        std::vector<feed::InstrumentId> added{};  ///< New instruments: their states and quotes.
        std::vector<feed::InstrumentId> books{};  ///< Instruments whose book the client gets from now on.
        std::string refusal{};                    ///< Why a part of the request was not applied.
    };
    [[nodiscard]] Change apply(const Request& request);
    /// Replaces all subscriptions.
    void replace(WantedSymbols wanted);
    /// Called for each new instrument. Returns true if the client gets its book.
    bool add_instrument(feed::InstrumentId id);
    /// Ends the subscription of the instrument's book.
    void drop_depth(feed::InstrumentId id);

    /// The symbols of the request that no instrument has.
    [[nodiscard]] std::vector<std::string_view> unknown(const Request& request) const;

private:
    /// Replaces the demand for the books of all instruments.
    void set_everything(Depth depth);
    void set_depth(feed::InstrumentId id, Depth depth);

    const Snapshot& snapshot_;
    DepthBooks& books_;
    Entitlement entitlement_;
    WantedSymbols wanted_;
    Depth demanded_of_all_;  // what the books' demand includes for all instruments
    IdSet excluded_;         // from wanted_.everything_depth: their feeds send less
    IdSet ids_;
    std::unordered_map<feed::InstrumentId, Depth> depths_;  // of ids_ with depth
};

}  // namespace millpond::gateway::json_lines
