// Writes a ring for the tests, one event per call. For the benches also readers without Python, and a day's ITCH file.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "itch_day.hpp"

namespace nb = nanobind;

namespace {

using namespace millpond;

void open(market::RingWriter* place, const std::string& name, std::uint64_t capacity, std::uint32_t instruments,
          std::uint32_t depth) {
    market::RingWriterOptions options;
    options.name = name;
    options.capacity = capacity;
    options.max_instruments = instruments;
    options.max_channels = 4;
    options.depth = depth;
    new (place) market::RingWriter(options);
    if (depth != 0) static_cast<void>(place->set_depth(0, {.depth = depth}));
    place->heartbeat(core::utc_nanos());
}

/// Prices come in 1/10000.
feed::Price price_of(std::int64_t price) { return price * (feed::kPriceScale / 10'000); }

bool quote(market::RingWriter& writer, std::uint32_t id, std::int64_t bid, std::int64_t ask, std::uint64_t sequence,
           std::uint16_t channel, std::uint64_t size) {
    feed::Quote event;
    event.instrument = id;
    event.channel = channel;
    event.bid_price = size == 0 ? 0 : price_of(bid);
    event.ask_price = price_of(ask);
    event.bid_size = size;
    event.ask_size = size + 1;
    event.exchange_utc_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(sequence);
    event.receive_utc_ns = event.exchange_utc_ns + 1'000;
    event.feed_sequence = sequence;
    return writer.publish(event);
}

/// Publishes `count` quotes of instrument `id`, with bids 1, 2, 3, ...
void flood(market::RingWriter& writer, std::uint32_t id, std::uint64_t count) {
    const nb::gil_scoped_release unlocked;
    for (std::uint64_t i = 1; i <= count; ++i) {
        static_cast<void>(quote(writer, id, static_cast<std::int64_t>(i) * 10'000, 0, i, 0, 1));
    }
}

bool trade(market::RingWriter& writer, std::uint32_t id, std::int64_t price, std::uint64_t size,
           std::uint64_t trade_id) {
    feed::Trade event;
    event.instrument = id;
    event.price = price_of(price);
    event.size = size;
    event.trade_id = trade_id;
    event.receive_utc_ns = 1'700'000'000'000'000'000;
    return writer.publish(event);
}

bool trade_break(market::RingWriter& writer, std::uint32_t id, std::uint64_t trade_id) {
    feed::TradeBreak event;
    event.instrument = id;
    event.trade_id = trade_id;
    return writer.publish(event);
}

bool status(market::RingWriter& writer, std::uint32_t id, std::uint32_t state, const std::string& reason) {
    feed::Status event;
    event.instrument = id;
    event.state = static_cast<feed::TradingState>(state);
    event.reason = core::FixedString<4>{reason};
    return writer.publish(event);
}

bool gap(market::RingWriter& writer, std::uint16_t channel, std::uint64_t first, std::uint64_t last) {
    feed::Gap event;
    event.channel = channel;
    event.first = first;
    event.last = last;
    return writer.publish(event);
}

bool clear(market::RingWriter& writer, std::uint16_t channel) {
    feed::Clear event;
    event.channel = channel;
    return writer.publish(event);
}

bool level(market::RingWriter& writer, std::uint32_t id, std::uint16_t side, std::int64_t price, std::uint64_t size,
           std::uint16_t flags) {
    feed::Level event;
    event.instrument = id;
    event.side = static_cast<feed::Side>(side);
    event.price = price_of(price);
    event.size = size;
    event.orders = 1;
    event.flags = flags;
    return writer.publish(event);
}

/// Sums up bids, modulo 2^64.
struct Sum {
    std::uint64_t bids{0};
    std::uint64_t events{0};

    void on(const feed::Quote& quote) {
        bids += static_cast<std::uint64_t>(quote.bid_price);
        ++events;
    }
    template <class Other>
    void on(const Other&) {
        ++events;
    }
};

/// Reads `count` events. Returns the sum of their bids, modulo 2^64.
std::uint64_t drain(market::RingReader& reader, std::uint64_t count) {
    const nb::gil_scoped_release unlocked;
    Sum sum;
    while (sum.events < count && reader.poll(sum, 4'096) != 0) {
    }
    return sum.bids;
}

/// Keeps the quotes of a batch.
struct Keep {
    std::vector<feed::Quote> quotes{};
    std::uint64_t events{0};

    void on(const feed::Quote& quote) {
        quotes.push_back(quote);
        ++events;
    }
    template <class Other>
    void on(const Other&) {
        ++events;
    }
};

/// Like the other, for a consumer that keeps the rows: each batch has its own memory until the next one exists.
std::uint64_t collect(market::RingReader& reader, std::uint64_t count, std::size_t batch) {
    const nb::gil_scoped_release unlocked;
    std::uint64_t bids = 0;
    Keep newest;
    for (std::uint64_t events = 0; events < count;) {
        Keep keep;
        keep.quotes.reserve(batch);
        while (keep.events < batch && reader.poll(keep, std::min<std::size_t>(4'096, batch - keep.events)) != 0) {
        }
        if (keep.events == 0) break;
        for (const auto& quote : keep.quotes) bids += static_cast<std::uint64_t>(quote.bid_price);
        events += keep.events;
        newest = std::move(keep);
    }
    return bids;
}

}  // namespace

NB_MODULE(_ring_writer, module) {
    module.def("write_itch_day", &write_itch_day, nb::arg("path"), nb::arg("books"), nb::arg("live_each"),
               nb::arg("messages"));
    nb::class_<market::RingReader>(module, "RingDrain")
        .def("__init__",
             [](market::RingReader* place, const std::string& name) { new (place) market::RingReader({.name = name}); })
        .def("drain", &drain)
        .def("collect", &collect);
    nb::class_<market::RingWriter>(module, "RingWriter")
        .def("__init__", &open, nb::arg("name"), nb::arg("capacity") = 1024, nb::arg("instruments") = 16,
             nb::arg("depth") = 0)
        .def("name",
             [](market::RingWriter& writer, std::uint32_t id, const std::string& symbol) {
                 return writer.name(id, feed::Venue{"XNAS"}, feed::Symbol{symbol});
             })
        .def("quote", &quote, nb::arg("id"), nb::arg("bid"), nb::arg("ask"), nb::arg("sequence") = 0,
             nb::arg("channel") = 0, nb::arg("size") = 100)
        .def("level", &level)
        .def("flood", &flood)
        .def("trade", &trade)
        .def("trade_break", &trade_break)
        .def("status", &status)
        .def("gap", &gap)
        .def("clear", &clear)
        .def("heartbeat", [](market::RingWriter& writer) { writer.heartbeat(core::utc_nanos()); })
        .def("close", &market::RingWriter::close);
}
