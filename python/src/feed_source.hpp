#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <millpond/feed/instrument_table.hpp>

#include "source.hpp"

namespace millpond::python {

/// Common part of sources with decoders: the table of instruments, the filter, and the numbers of events.
///
/// Threads: one at a time.
class FeedSource : public Source {
public:
    explicit FeedSource(const Options& options) : instruments_(kMaxInstruments), filter_(options.symbols) {}

    [[nodiscard]] std::size_t instruments() const noexcept override { return instruments_.size(); }
    [[nodiscard]] market::Instrument instrument(feed::InstrumentId id) const noexcept override {
        return {instruments_.venue(id), instruments_.symbol(id)};
    }

    /// Called by decoders for each event.
    template <class Event>
    void on(const Event& event) {
        ++events_;
        if constexpr (requires { event.instrument; }) {
            if (!filter_.wants(event.instrument, [&] { return instruments_.symbol(event.instrument).view(); })) return;
        }
        rows_->add(event, events_);
    }

protected:
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

    static constexpr std::size_t kMaxInstruments = 1U << 16U;
    feed::InstrumentTable instruments_;
    Collector* rows_{nullptr};

private:
    SymbolFilter filter_;
    std::uint64_t events_{0};
};

}  // namespace millpond::python
