#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <millpond/feed/decimal.hpp>

#include "itch_table.hpp"
#include "parts.hpp"
#include "rows.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

/// How numpy reads a column; `nanos`: prices as integers.
std::string numpy_format_of(const Column& column, bool nanos) {
    switch (column.kind) {
        case ColumnKind::time: return "<M8[ns]";
        case ColumnKind::price: return nanos ? "<i8" : "<f8";
        case ColumnKind::size: return "<i8";
        case ColumnKind::number64: return "<u8";
        case ColumnKind::instrument:
        case ColumnKind::number32: return "<u4";
        case ColumnKind::number16: return "<u2";
        case ColumnKind::text: return "S" + std::to_string(column.bytes);
    }
    return "";
}

nb::str text(std::string_view text) { return nb::str{text.data(), text.size()}; }

/// Argument for numpy.dtype.
nb::dict describe(const Table& table, bool nanos) {
    nb::list names;
    nb::list formats;
    nb::list offsets;
    for (const auto& column : table.columns) {
        names.append(text(column.shown_name(nanos)));
        formats.append(numpy_format_of(column, nanos));
        offsets.append(column.offset);
    }
    nb::dict dtype;
    dtype["names"] = names;
    dtype["formats"] = formats;
    dtype["offsets"] = offsets;
    dtype["itemsize"] = table.row_bytes;
    return dtype;
}

/// (name, the argument for numpy.dtype) of each table.
nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::any>> describe_tables(bool nanos) {
    nb::list all;
    for (const auto& table : tables()) all.append(nb::make_tuple(text(table.name), describe(table, nanos)));
    return all;
}

/// Argument for numpy.dtype for the messages of a type, or for orders ("").
nb::typed<nb::dict, nb::str, nb::any> describe_itch(const std::string& type, bool nanos) {
    return describe(itch_table(type.empty() ? '\0' : type[0]), nanos);
}

/// A decimal number in 1/feed::kPriceScale. Throws std::invalid_argument with what is wrong.
feed::Price price_nanos(const std::string& decimal) {
    const auto price = feed::parse_price(decimal);
    if (!price) throw std::invalid_argument("price '" + decimal + "' " + std::string{feed::to_string(price.error())});
    return *price;
}

}  // namespace
}  // namespace millpond::python

NB_MODULE(_core, module) {
    using namespace millpond::python;
    nb::set_leak_warnings(false);  // an interpreter that ends may keep a reader
    module.def("describe_tables", &describe_tables, nb::arg("nanos"));
    module.def("describe_itch", &describe_itch, nb::arg("type"), nb::arg("nanos"));
    module.def("price_nanos", &price_nanos, nb::arg("text"));
    module.def("itch_types", [] { return text(itch_types()); });
    add_ring(module);
    add_book(module);
    add_scan(module);
    add_arrow_stream(module);
    add_fix_log(module);
    add_itch_rows(module);
    add_interrupt(module);
    add_contents(module);
}
