#pragma once

#include <span>

#include "tests/gateway/registry/beacon.hpp"
#include "tests/gateway/registry/ticker.hpp"

/// Arrays of sink kinds and feed formats that include those of the tests.
namespace millpond::gateway {

namespace beacon {
inline std::span<const SinkKind* const> kinds() {
    static const SinkKind* const all[] = {&Settings::kind()};
    return all;
}
}  // namespace beacon

namespace ticker {
inline std::span<const FeedFormat* const> formats() {
    static const FeedFormat* const all[] = {&Settings::format()};
    return all;
}
}  // namespace ticker

}  // namespace millpond::gateway
