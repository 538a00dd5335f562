#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

namespace millpond::python {

using NameList = nanobind::typed<nanobind::list, nanobind::typed<nanobind::tuple, nanobind::bytes, nanobind::bytes>>;

using Names = std::vector<std::pair<std::string, std::string>>;

/// List of (venue, symbol) of the instruments from `first` up to `end`; name_of(id) returns each.
template <class NameOf>
Names names_from(std::size_t first, std::size_t end, NameOf&& name_of) {
    Names names;
    for (auto id = first; id < end; ++id) {
        const auto [venue, symbol] = name_of(id);
        names.emplace_back(venue, symbol);
    }
    return names;
}

inline NameList to_list(const Names& names) {
    const auto bytes = [](const std::string& text) { return nanobind::bytes(text.data(), text.size()); };
    nanobind::list all;
    for (const auto& [venue, symbol] : names) all.append(nanobind::make_tuple(bytes(venue), bytes(symbol)));
    return all;
}

}  // namespace millpond::python
