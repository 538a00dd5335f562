#include <memory>
#include <utility>

#include <nanobind/nanobind.h>

#include "check_signals.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

std::unique_ptr<nb::python_error>& held() {
    static auto* const place = new std::unique_ptr<nb::python_error>;
    return *place;
}

int raise_now(void* /*unused*/) {
    try {
        raise_interrupt();
        return 0;
    } catch (nb::python_error& interrupt) {
        interrupt.restore();
        return -1;
    }
}

}  // namespace

void hold_interrupt(nb::python_error&& interrupt) {
    const nb::gil_scoped_acquire lock;
    held() = std::make_unique<nb::python_error>(std::move(interrupt));
    Py_AddPendingCall(&raise_now, nullptr);
}

void raise_interrupt() {
    if (const auto interrupt = std::exchange(held(), nullptr)) throw nb::python_error{std::move(*interrupt)};
}

void add_interrupt(nb::module_& module) { module.def("raise_interrupt", &raise_interrupt); }

}  // namespace millpond::python
