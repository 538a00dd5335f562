#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "source.hpp"

namespace millpond::python {

using ReportDict = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;

/// What was met in a file, up to where it was read, as Python gets it.
inline ReportDict to_report(const Source::Counts& counts, const ErrorList& errors, std::uint64_t outside, bool ended) {
    nanobind::dict named;
    for (const auto& [name, count] : counts) named[name.c_str()] = count;
    nanobind::list texts;
    // Names in a file may be any bytes.
    for (const auto& error : errors.texts()) {
        texts.append(nanobind::steal(
            PyUnicode_DecodeUTF8(error.data(), static_cast<Py_ssize_t>(error.size()), "backslashreplace")));
    }
    nanobind::dict all;
    all["counts"] = named;
    all["errors"] = texts;
    all["error_count"] = errors.count();
    all["outside"] = outside;
    all["ended"] = ended;
    return all;
}

}  // namespace millpond::python
