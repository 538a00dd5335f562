#include <stdexcept>
#include <string_view>

#include <millpond/feed/product_names.hpp>

#include "fuzz/fuzz_target.hpp"

MILLPOND_FUZZ_TARGET {
    const std::string_view text{reinterpret_cast<const char*>(input.data()), input.size()};
    try {
        (void)millpond::feed::ProductNames::parse(text);
    } catch (const std::invalid_argument&) {  // the only allowed refusal
    }
}
