#pragma once

#include <unistd.h>

#include <nanobind/nanobind.h>

namespace millpond::python {

/// Runs Python's signal handlers, so that Ctrl-C ends long work. Called without the interpreter's lock. Only the main
/// thread has handlers; it may hold the lock while it waits for another one, which must then not ask for it.
inline void check_signals() {
    if (::gettid() != ::getpid()) return;
    const nanobind::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

/// What a signal handler has thrown has no way through a consumer of Arrow streams: it waits here until Python asks for
/// it, or else is raised as soon as the interpreter runs Python code again. Only the main thread has handlers, so one
/// place is enough. It is not destroyed with the process, since the interpreter is gone by then.
void hold_interrupt(nanobind::python_error&& interrupt);
/// Throws what is held. With the interpreter's lock.
void raise_interrupt();

}  // namespace millpond::python
