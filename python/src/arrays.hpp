#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "rows.hpp"

namespace millpond::python {

using ByteArray = nanobind::ndarray<nanobind::numpy, std::uint8_t, nanobind::ndim<1>>;

/// The rows as a numpy array of bytes that owns them; Python views it as the table's rows.
template <class Row, class Allocator>
ByteArray to_bytes(std::vector<Row, Allocator>&& rows) {
    using Owned = std::vector<Row, Allocator>;
    auto owned = std::make_unique<Owned>(std::move(rows));
    const auto size = owned->size() * sizeof(Row);
    auto* data = reinterpret_cast<std::uint8_t*>(owned->data());
    nanobind::capsule owner{owned.get(), [](void* held) noexcept { delete static_cast<Owned*>(held); }};
    static_cast<void>(owned.release());
    return ByteArray{data, {size}, owner};
}

using ByteArrays = nanobind::typed<nanobind::list, ByteArray>;

/// A batch as a list of byte arrays, in the order of the tables.
inline ByteArrays to_arrays(Rows&& rows) {
    nanobind::list arrays;
    rows.visit([&](std::size_t, auto& table) { arrays.append(to_bytes(std::move(table))); });
    return arrays;
}

}  // namespace millpond::python
