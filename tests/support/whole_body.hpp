#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace millpond::test {

/// The body of an http::Page with all its parts. largest: size of the largest part.
template <class Page>
std::string whole_body(Page page, std::size_t* largest = nullptr) {
    for (bool has_more = static_cast<bool>(page.more); has_more;) {
        const auto before = page.body.size();
        has_more = page.more(page.body);
        if (largest != nullptr) *largest = std::max(*largest, page.body.size() - before);
    }
    return page.body;
}

}  // namespace millpond::test
