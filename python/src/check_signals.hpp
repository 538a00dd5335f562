#pragma once

#include <unistd.h>

#include <nanobind/nanobind.h>

namespace millpond::python {

/// Runs Python's signal handlers, so that Ctrl-C ends long work. Call without the interpreter's lock. Only the main
/// thread has handlers; it may hold the lock while it waits for another thread, which must then not request the lock.
inline void check_signals() {
    if (::gettid() != ::getpid()) return;
    const nanobind::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

/// Stores an exception of a signal handler, which cannot pass through a consumer of Arrow streams, until Python calls
/// raise_interrupt; otherwise it is raised as soon as the interpreter runs Python code again. Only the main thread has
/// handlers, so one variable is enough. It is not destroyed at exit, because the interpreter no longer exists then.
void hold_interrupt(nanobind::python_error&& interrupt);
/// Throws the stored exception, if any. Requires the interpreter's lock.
void raise_interrupt();

}  // namespace millpond::python
