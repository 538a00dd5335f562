#pragma once

#include <millpond/core/descriptor.hpp>

namespace millpond::app {

/// Makes demos that start at the same time choose their ports one after the other: a lock that the destructor releases.
/// A demo that holds it too long is ignored.
class PortTurn {
public:
    PortTurn();

private:
    core::Descriptor socket_;
};

}  // namespace millpond::app
