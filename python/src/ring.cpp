#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/market/ring_error.hpp>

#include "arrays.hpp"
#include "check_signals.hpp"
#include "in_use.hpp"
#include "live_ring.hpp"
#include "name_list.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

const char* text_of(LiveRing::Writer writer) noexcept {
    switch (writer) {
        case LiveRing::Writer::alive: return "alive";
        case LiveRing::Writer::silent: return "silent";
        case LiveRing::Writer::dead: return "dead";
        case LiveRing::Writer::superseded: return "superseded";
        case LiveRing::Writer::closed: return "closed";
    }
    return "";
}

void open_ring(LiveRing* place, const std::string& name, const std::optional<std::vector<std::string>>& symbols,
               bool nanos, std::int64_t silent_after_ns, const std::string& visible_as, bool own) {
    const market::RingReaderOptions options{
        .name = name, .visible_as = visible_as, .silent_after = std::chrono::nanoseconds{silent_after_ns}, .own = own};
    const nb::gil_scoped_release unlocked;
    new (place) LiveRing(options, symbols, nanos);
}

nb::typed<nb::tuple, ByteArrays, std::uint64_t, nb::str, bool, bool> poll(LiveRing& ring, std::size_t max_rows,
                                                                          std::optional<std::int64_t> timeout_ns) {
    const InUse guard{ring.in_use()};
    LiveRing::Batch batch;
    {
        const nb::gil_scoped_release unlocked;
        batch = ring.poll(max_rows, timeout_ns, &check_signals);
    }
    return nb::make_tuple(to_arrays(std::move(batch.rows)), batch.missed, text_of(batch.writer), batch.ended,
                          batch.restarted);
}

/// Quotes and states of the instruments that are wanted and have one, as two tables' rows.
nb::typed<nb::tuple, ByteArray, ByteArray> board(LiveRing& ring) {
    const InUse guard{ring.in_use()};
    Collector collector{ring.collecting()};
    {
        const nb::gil_scoped_release unlocked;
        const auto standing = ring.board();
        for (feed::InstrumentId id = 0; id < standing.size(); ++id) {
            const auto& each = standing[id];
            if ((!each.quote && !each.status) || !ring.wants(id)) continue;
            auto quote = each.quote.value_or(feed::Quote{.instrument = id});
            auto status = each.status.value_or(feed::Status{.instrument = id, .state = feed::TradingState::unknown});
            collector.add(quote, each.quote_number);
            collector.add(status, each.status_number);
        }
    }
    auto rows = collector.drain();
    return nb::make_tuple(to_bytes(std::move(rows.of<feed::Quote>())), to_bytes(std::move(rows.of<feed::Status>())));
}

/// (venue, symbol) of the instruments from `first` on.
NameList names_of_ring(LiveRing& ring, std::uint32_t first) {
    return to_list(names_from(first, ring.reader().instruments(), [&](std::size_t id) {
        using Texts = std::pair<std::string_view, std::string_view>;
        const auto* named = ring.reader().instrument(static_cast<feed::InstrumentId>(id));
        return named == nullptr ? Texts{} : Texts{named->venue.view(), named->symbol.view()};
    }));
}

nb::typed<nb::dict, nb::str, std::uint64_t> account(LiveRing& ring) {
    const InUse guard{ring.in_use()};
    const auto sum = ring.account();
    nb::dict all;
    all["since"] = sum.since;
    all["published"] = sum.published;
    all["delivered"] = sum.delivered;
    all["filtered"] = sum.filtered;
    all["missed"] = sum.missed;
    all["queued"] = sum.queued;
    all["from_board"] = sum.from_board;
    return all;
}

const char* name_of(market::RingFault fault) noexcept {
    switch (fault) {
        case market::RingFault::not_found: return "not_found";
        case market::RingFault::not_ready: return "not_ready";
        case market::RingFault::held: return "held";
        case market::RingFault::foreign: return "foreign";
        case market::RingFault::other_layout: return "other_layout";
        case market::RingFault::memory: return "memory";
    }
    return "";
}

}  // namespace

void add_ring(nb::module_& module) {
    static nb::object error;
    error = nb::exception<market::RingError>(module, "RingOpenError");
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void*) {
            try {
                std::rethrow_exception(thrown);
            } catch (const market::RingError& fault) {
                PyErr_SetObject(error.ptr(), nb::make_tuple(fault.what(), name_of(fault.fault())).ptr());
            }
        },
        nullptr);
    nb::class_<LiveRing>(module, "Ring")
        .def("__init__", &open_ring, nb::arg("name"), nb::arg("symbols").none(), nb::arg("nanos"),
             nb::arg("silent_after_ns"), nb::arg("visible_as"), nb::arg("own"))
        .def("poll", &poll, nb::arg("max_rows"), nb::arg("timeout_ns").none())
        .def("board", &board)
        .def("names", &names_of_ring, nb::arg("first"))
        .def("account", &account)
        .def_prop_ro("writer_pid", [](LiveRing& ring) { return ring.reader().writer_pid(); })
        .def_prop_ro("has_writer", [](LiveRing& ring) { return ring.reader().has_writer(); })
        .def_prop_ro("epoch", [](LiveRing& ring) { return ring.reader().epoch(); })
        .def_prop_ro("capacity", [](LiveRing& ring) { return ring.reader().capacity(); });
}

}  // namespace millpond::python
