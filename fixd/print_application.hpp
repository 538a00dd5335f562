#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include <millpond/engine/application.hpp>

#include "fixd/fix_printer.hpp"

namespace millpond::fixd {

/// Prints what comes, and what befalls the session; accepts every message.
///
/// Threads: any.
class PrintApplication final : public engine::Application {
public:
    explicit PrintApplication(FixPrinter printer) : printer_(std::move(printer)) {}

    void on_logon(engine::SessionLink& link) override;
    void on_logout(engine::SessionLink& link, std::string_view text) override;
    void on_closed(engine::SessionLink& link, engine::Closed reason) override;
    [[nodiscard]] fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override;
    void on_reject(engine::SessionLink& link, const fix::Message& reject) override;

    /// Application messages that were printed.
    [[nodiscard]] std::uint64_t printed() const noexcept { return printed_.load(std::memory_order_acquire); }

private:
    void print(engine::SessionLink& link, std::string_view text);

    std::mutex lock_;
    FixPrinter printer_;
    std::atomic<std::uint64_t> printed_{0};
};

}  // namespace millpond::fixd
