#pragma once

#include <functional>
#include <string>
#include <vector>

namespace millpond::app {

/// Shell commands for two terminals: an acceptor that fills orders, and an initiator that sends it one. Empty in a
/// program without the FIX engine. program: a command that starts millpond. address: called once for the acceptor's
/// ADDRESS:PORT.
[[nodiscard]] std::vector<std::string> fix_example(const std::string& program,
                                                   const std::function<std::string()>& address);

}  // namespace millpond::app
