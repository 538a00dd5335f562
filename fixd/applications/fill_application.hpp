#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <millpond/engine/application.hpp>

namespace millpond::fixd {

/// A venue for tests: fills each NewOrderSingle completely at its price, market orders at 100, and rejects other
/// messages. OrderID and ExecID begin with the time of construction, so they are
/// unique across restarts.
///
/// Threads: any; one object may serve sessions of several I/O threads.
class FillApplication final : public engine::Application {
public:
    FillApplication();
    [[nodiscard]] fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override;

private:
    std::string prefix_;
    std::atomic<std::uint64_t> fills_{0};
};

}  // namespace millpond::fixd
