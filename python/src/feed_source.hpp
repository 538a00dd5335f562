#pragma once

#include <algorithm>
#include <cstdint>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/order_books.hpp>

#include "itch_fault.hpp"
#include "source.hpp"

namespace millpond::python {

/// What sources with decoders share: the table of instruments, the filter, and the numbers of events.
///
/// Threads: one at a time.
class FeedSource : public Source {
public:
    explicit FeedSource(const Options& options) : instruments_(kMostInstruments), filter_(options.symbols) {}

    [[nodiscard]] std::size_t instruments() const noexcept override { return instruments_.size(); }
    [[nodiscard]] market::Instrument instrument(feed::InstrumentId id) const noexcept override {
        return {instruments_.venue(id), instruments_.symbol(id)};
    }

    /// As a handler of events.
    template <class Event>
    void on(const Event& event) {
        ++events_;
        if constexpr (requires { event.instrument; }) {
            if (!filter_.wants(event.instrument, [&] { return instruments_.symbol(event.instrument).view(); })) return;
        }
        rows_->add(event, events_);
    }

protected:
    /// Room for 20,000 stocks, and for orders and levels that grows with those that are there at once, to 2^23 orders:
    /// the memory does not depend on the file's size. A small file, compressed or not, names fewer stocks.
    [[nodiscard]] static feed::OrderBooks::Options books_for(const Options& options) {
        constexpr std::uint64_t kLeastBooks = 64;
        feed::OrderBooks::Options books;
        books.books = std::clamp<std::uint64_t>(options.bytes, kLeastBooks, kMostStocks);
        books.orders = 4'096;
        books.level_chunks = 128;
        books.growth = kMostOrders / books.orders;
        return books;
    }
    template <class Decoder>
    static void add_counts(Counts& counts, const Decoder& decoder) {
        decoder.visit_counters([&](const char* name, const char*, const core::Tally& tally) {
            const auto place = std::ranges::find(counts, name, &Counts::value_type::first);
            if (place != counts.end()) {
                place->second += tally.read();
            } else {
                counts.emplace_back(name, tally.read());
            }
        });
    }

    static constexpr std::size_t kMostInstruments = 1U << 16U;
    feed::InstrumentTable instruments_;
    Collector* rows_{nullptr};

private:
    SymbolFilter filter_;
    std::uint64_t events_{0};
};

}  // namespace millpond::python
