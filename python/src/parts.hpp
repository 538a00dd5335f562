#pragma once

#include <nanobind/nanobind.h>

/// The functions by which each file adds its part to the module.
namespace millpond::python {

void add_arrow_stream(nanobind::module_& module);
void add_book(nanobind::module_& module);
void add_contents(nanobind::module_& module);
void add_fix_log(nanobind::module_& module);
void add_itch_rows(nanobind::module_& module);
void add_ring(nanobind::module_& module);
void add_interrupt(nanobind::module_& module);
void add_scan(nanobind::module_& module);

}  // namespace millpond::python
