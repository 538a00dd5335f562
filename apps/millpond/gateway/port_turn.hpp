#pragma once

namespace millpond::app {

/// Demos that begin at once choose their ports one after the other: who has the turn has it until this goes. A demo
/// that takes too long is not waited for.
class PortTurn {
public:
    PortTurn();
    ~PortTurn();
    PortTurn(const PortTurn&) = delete;
    PortTurn& operator=(const PortTurn&) = delete;

private:
    int socket_{-1};
};

}  // namespace millpond::app
