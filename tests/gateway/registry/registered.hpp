#pragma once

#include <span>

#include "tests/gateway/registry/beacon.hpp"
#include "tests/gateway/registry/ticker.hpp"

/// The arrays that a program with the tests' kind and format passes.
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
