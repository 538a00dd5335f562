#pragma once

#include <nanobind/nanobind.h>

/// What each file adds to the module.
namespace millpond::python {

void add_arrow_stream(nanobind::module_& module);
void add_fix_log(nanobind::module_& module);
void add_itch_rows(nanobind::module_& module);
void add_ring(nanobind::module_& module);
void add_interrupt(nanobind::module_& module);
void add_scan(nanobind::module_& module);

}  // namespace millpond::python
