#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

#include "parts.hpp"
#include "rows.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

/// How numpy reads a column; `mantissa`: prices as integers.
const char* numpy_format_of(ColumnKind kind, bool mantissa) noexcept {
    switch (kind) {
        case ColumnKind::time: return "<M8[ns]";
        case ColumnKind::price: return mantissa ? "<i8" : "<f8";
        case ColumnKind::number64: return "<u8";
        case ColumnKind::instrument: return "<u4";
        case ColumnKind::number16: return "<u2";
        case ColumnKind::text4: return "S4";
    }
    return "";
}

/// (name, what numpy.dtype takes) of each table.
nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::any>> describe_tables(bool mantissa) {
    nb::list all;
    for (const auto& table : tables()) {
        nb::list names;
        nb::list formats;
        nb::list offsets;
        for (const auto& column : table.columns) {
            names.append(column.name);
            formats.append(numpy_format_of(column.kind, mantissa));
            offsets.append(column.offset);
        }
        nb::dict dtype;
        dtype["names"] = names;
        dtype["formats"] = formats;
        dtype["offsets"] = offsets;
        dtype["itemsize"] = table.row_bytes;
        all.append(nb::make_tuple(table.name, dtype));
    }
    return all;
}

}  // namespace
}  // namespace millpond::python

NB_MODULE(_core, module) {
    using namespace millpond::python;
    nb::set_leak_warnings(false);  // an interpreter that ends may keep a reader
    module.def("describe_tables", &describe_tables, nb::arg("mantissa"));
    add_ring(module);
    add_scan(module);
    add_arrow_stream(module);
    add_fix_log(module);
    add_itch_rows(module);
    add_interrupt(module);
}
