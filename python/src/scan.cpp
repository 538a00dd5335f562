#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <millpond/files/file_format_error.hpp>
#include <millpond/files/file_kind.hpp>

#include "arrays.hpp"
#include "capture_format.hpp"
#include "check_signals.hpp"
#include "in_use.hpp"
#include "name_list.hpp"
#include "opened_scan.hpp"
#include "parts.hpp"
#include "report.hpp"
#include "state_lock.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

std::unique_ptr<Source> open_source(const std::string& kind, const Source::Options& options) {
    if (kind == "journal") return open_journal(options);
    if (kind == "itch") return open_itch(options);
    return open_capture(options);
}

std::shared_ptr<OpenedScan> open_scan(const std::string& kind, const std::string& path, const std::string& format,
                                      const std::string& only, const std::string& timestamps,
                                      const std::optional<std::vector<std::string>>& symbols, bool nanos,
                                      std::uint32_t tables, std::optional<std::int64_t> start,
                                      std::optional<std::int64_t> end, std::optional<std::int64_t> midnight_utc_ns,
                                      std::uint64_t bytes, std::uint32_t depth, bool orders) {
    // Without a day, ITCH times count from 1970-01-01: the decoder leaves them out when midnight is 0, so a day is
    // added there and taken away from its events.
    constexpr std::int64_t kDayNs = 86'400'000'000'000;
    const bool shifted = !midnight_utc_ns && (kind == "itch" || format == "itch");
    const Source::Options options{.path = path,
                                  .format = format,
                                  .only = only,
                                  .timestamps = timestamps_named(timestamps),
                                  .symbols = symbols,
                                  .start = start,
                                  .end = end,
                                  .midnight_utc_ns = midnight_utc_ns.value_or(shifted ? kDayNs : 0),
                                  .bytes = bytes,
                                  .depth = depth,
                                  .orders = orders};
    const nb::gil_scoped_release unlocked;
    return std::make_shared<OpenedScan>(
        open_source(kind, options),
        Collector::Options{
            .nanos = nanos, .only = tables, .start = start, .end = end, .event_shift_ns = shifted ? -kDayNs : 0});
}

/// journal, capture or itch; empty for any other file.
std::string file_kind_of(const std::string& path) {
    const nb::gil_scoped_release unlocked;
    const auto kind = files::detect_file_kind(path);
    if (!kind) return {};
    switch (*kind) {
        case files::FileKind::capture: return "capture";
        case files::FileKind::itch: return "itch";
        case files::FileKind::journal: return "journal";
    }
    return {};
}

/// (format, UTC nanoseconds of the first datagram, None when there is none).
nb::typed<nb::tuple, nb::str, std::optional<std::int64_t>> look_at_capture_of(const std::string& path,
                                                                              const std::string& timestamps) {
    CaptureLook look;
    {
        const nb::gil_scoped_release unlocked;
        look = look_at_capture(path, timestamps_named(timestamps));
    }
    return nb::make_tuple(look.format, look.first_utc_ns);
}

/// A batch's arrays; None at the end.
std::optional<ByteArrays> read_scan(OpenedScan& scan, std::size_t max_rows) {
    const InUse guard{scan.in_use()};
    Rows rows;
    {
        const nb::gil_scoped_release unlocked;
        rows = scan.read(max_rows, &check_signals);
    }
    if (rows.size() == 0 && scan.ended()) return std::nullopt;
    return to_arrays(std::move(rows));
}

/// (venue, symbol) of the instruments from `first` on.
NameList names_of_scan(OpenedScan& scan, std::size_t first) {
    return to_list(between_steps(scan.state_lock(), [&] {
        return names_from(first, scan.source().instruments(), [&](std::size_t id) {
            const auto named = scan.source().instrument(static_cast<feed::InstrumentId>(id));
            return std::pair{std::string{named.venue.view()}, std::string{named.symbol.view()}};
        });
    }));
}

ReportDict report_of_scan(OpenedScan& scan) {
    return to_report(between_steps(scan.state_lock(), [&] {
        const auto& source = scan.source();
        return Report{source.counts(), source.errors(), source.outside() + scan.collector().outside(), scan.ended()};
    }));
}

}  // namespace

void add_scan(nb::module_& module) {
    static nb::object error;
    error = nb::exception<files::FileFormatError>(module, "FileFormatError");
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void*) {
            try {
                std::rethrow_exception(thrown);
            } catch (const std::filesystem::filesystem_error& failed) {
                PyErr_SetObject(PyExc_OSError, nb::make_tuple(failed.code().value(), failed.what()).ptr());
            } catch (const std::system_error& failed) {
                PyErr_SetObject(PyExc_OSError, nb::make_tuple(failed.code().value(), failed.what()).ptr());
            }
        },
        nullptr);
    nb::class_<OpenedScan>(module, "OpenedScan")
        .def("read", &read_scan, nb::arg("max_rows"))
        .def("names", &names_of_scan, nb::arg("first"))
        .def("report", &report_of_scan)
        .def_prop_ro("offset", &OpenedScan::offset);
    module.def("file_kind", &file_kind_of, nb::arg("path"));
    module.def("look_at_capture", &look_at_capture_of, nb::arg("path"), nb::arg("timestamps"));
    module.def("open_scan", &open_scan, nb::arg("kind"), nb::arg("path"), nb::arg("format"), nb::arg("only"),
               nb::arg("timestamps"), nb::arg("symbols").none(), nb::arg("nanos"), nb::arg("tables"),
               nb::arg("start").none(), nb::arg("end").none(), nb::arg("midnight_utc_ns").none(), nb::arg("bytes"),
               nb::arg("depth"), nb::arg("orders"));
}

}  // namespace millpond::python
