#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "source.hpp"

namespace millpond::python {

using ReportDict = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;

/// Errors and counts of a file, up to the current offset.
struct Report {
    Source::Counts counts;
    ErrorList errors;
    std::uint64_t outside;
    bool ended;
};

/// Converts a report to Python's form.
inline ReportDict to_report(const Report& report) {
    nanobind::dict named;
    for (const auto& [name, count] : report.counts) named[name.c_str()] = count;
    nanobind::list texts;
    // Names in a file may have any bytes.
    for (const auto& error : report.errors.texts()) {
        texts.append(nanobind::steal(
            PyUnicode_DecodeUTF8(error.data(), static_cast<Py_ssize_t>(error.size()), "backslashreplace")));
    }
    nanobind::dict all;
    all["counts"] = named;
    all["errors"] = texts;
    all["error_count"] = report.errors.count();
    all["outside"] = report.outside;
    all["ended"] = report.ended;
    return all;
}

}  // namespace millpond::python
