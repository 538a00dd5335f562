#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/market/composite.hpp>
#include <millpond/market/ring_writer.hpp>

#include "gateway/settings/config.hpp"
#include "gateway/settings/symbol_names.hpp"

namespace millpond::gateway {

/// The composites of a ring ([[composite]]), and which instruments are their members: those of the composite's venues
/// whose names (SymbolNames) are the same.
///
/// Threads: the receive thread; counters of the composites may be read on any.
/// Memory:  no allocation after construction.
class Composites {
public:
    /// config: complete. instruments: those of the ring, with the names of an earlier run. board: of the ring. Reads
    /// the file of [symbols]; throws ConfigError.
    Composites(const std::string& ring, const Config& config, feed::InstrumentTable& instruments,
               const market::QuoteBoard& board, std::pmr::memory_resource* memory);

    /// Whether the ring has composites.
    [[nodiscard]] static bool has_some(const std::string& ring, const Config& config) noexcept;

    /// A composite and its venues.
    struct One {
        One(std::string name, std::vector<feed::Venue> of, const market::Composite::Options& options,
            std::pmr::memory_resource* memory)
            : venue(std::move(name)), venues(std::move(of)), composite(options, memory) {}
        std::string venue;
        std::vector<feed::Venue> venues;  ///< In the order of market::Composite::Options::venues.
        market::Composite composite;
    };
    [[nodiscard]] const std::deque<One>& all() const noexcept { return all_; }

    /// Makes a new instrument a member of its symbols, whose instruments are added to the table.
    void add(feed::InstrumentId id) noexcept;

    /// Applies an event that was published, and publishes what changes. publish: see market::Composite.
    template <class Event, class Publish>
    void on(const Event& event, std::uint64_t number, Publish&& publish) noexcept {
        for (auto& one : all_) one.composite.on(event, number, publish);
    }
    /// See market::Composite::set_known.
    void set_known(std::uint16_t channel, bool repaired) noexcept {
        for (auto& one : all_) one.composite.set_known(channel, repaired, core::utc_nanos());
    }
    /// Publishes some of what a Gap, a Clear or a new member changed. Returns 0 if there is nothing to do before the
    /// next beat.
    template <class Publish>
    std::size_t renew(Publish&& publish) noexcept {
        constexpr std::size_t kSlice = 32;
        std::size_t checked = 0;
        for (auto& one : all_) {
            if (budget_ == 0) break;
            const auto symbols = one.composite.renew(kSlice, publish);
            budget_ -= std::min(budget_, symbols * one.composite.max_events());
            checked += symbols;
        }
        return checked;
    }
    /// Events that may be published until the next beat, so that readers of the ring keep up.
    void set_budget(std::size_t events) noexcept { budget_ = events; }

private:
    void add(One& one, const feed::Symbol& name, feed::InstrumentId member) noexcept;

    feed::InstrumentTable& instruments_;
    SymbolNames names_;
    std::deque<One> all_;
    std::size_t budget_{0};
};

}  // namespace millpond::gateway
