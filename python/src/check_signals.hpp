#pragma once

#include <nanobind/nanobind.h>

namespace millpond::python {

/// Runs Python's signal handlers, so that Ctrl-C ends long work. Called without the interpreter's lock.
inline void check_signals() {
    const nanobind::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace millpond::python
