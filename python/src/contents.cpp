#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <cstddef>
#include <span>
#include <string>

#include <millpond/files/file_contents.hpp>

#include "in_use.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

/// A file that is read from first to last, and the guard of its one thread.
struct Contents {
    explicit Contents(const std::string& path) : file(path) {}
    files::FileContents file;
    std::atomic<bool> in_use{false};
};

/// The next bytes; empty at the end.
nb::bytes next_of(Contents& contents) {
    const InUse guard{contents.in_use};
    std::span<const std::byte> bytes;
    {
        const nb::gil_scoped_release unlocked;
        bytes = contents.file.next();
    }
    return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void add_contents(nb::module_& module) {
    nb::class_<Contents>(module, "FileContents")
        .def(nb::init<const std::string&>(), nb::arg("path"))
        .def("next", &next_of);
}

}  // namespace millpond::python
