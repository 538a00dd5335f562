#pragma once

#include <cstddef>
#include <string_view>

#include <nanobind/nanobind.h>

namespace millpond::python {

using NameList = nanobind::typed<nanobind::list, nanobind::typed<nanobind::tuple, nanobind::bytes, nanobind::bytes>>;

/// (venue, symbol) of the instruments from `first` up to `end`; name_of(id) gives each.
template <class NameOf>
NameList name_list(std::size_t first, std::size_t end, NameOf&& name_of) {
    const auto bytes = [](std::string_view text) { return nanobind::bytes(text.data(), text.size()); };
    nanobind::list all;
    for (auto id = first; id < end; ++id) {
        const auto [venue, symbol] = name_of(id);
        all.append(nanobind::make_tuple(bytes(venue), bytes(symbol)));
    }
    return all;
}

}  // namespace millpond::python
