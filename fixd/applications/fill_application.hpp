#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <millpond/engine/application.hpp>

namespace millpond::fixd {

/// A venue for tests: answers each NewOrderSingle with an ExecutionReport that it is filled, whole and at its price;
/// market orders at 100. Other messages it does not support. OrderID and ExecID begin with the time at which it was
/// made, so they are new after a restart.
///
/// Threads: one an I/O thread; may serve sessions of several.
class FillApplication final : public engine::Application {
public:
    FillApplication();
    [[nodiscard]] fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override;

private:
    std::string prefix_;
    std::atomic<std::uint64_t> fills_{0};
};

}  // namespace millpond::fixd
