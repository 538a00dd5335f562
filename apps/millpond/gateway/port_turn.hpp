#pragma once

#include <millpond/core/descriptor.hpp>

namespace millpond::app {

/// Demos that begin at once choose their ports one after the other: who has the turn has it until this goes. A demo
/// that takes too long is not waited for.
class PortTurn {
public:
    PortTurn();

private:
    core::Descriptor socket_;
};

}  // namespace millpond::app
