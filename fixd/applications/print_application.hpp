#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include <millpond/engine/application.hpp>

#include "fixd/print/fix_printer.hpp"

namespace millpond::fixd {

/// Prints received messages and events of the session; accepts every message.
///
/// Threads: any.
class PrintApplication final : public engine::Application {
public:
    /// printed: counter of printed application messages, outlives this; may be null.
    explicit PrintApplication(FixPrinter printer, std::atomic<std::uint64_t>* printed = nullptr)
        : printer_(std::move(printer)), printed_(printed) {}

    void on_logon(engine::SessionLink& link) override;
    void on_logout(engine::SessionLink& link, std::string_view text) override;
    void on_closed(engine::SessionLink& link, engine::Closed reason) override;
    [[nodiscard]] fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override;
    void on_reject(engine::SessionLink& link, const fix::Message& reject) override;

private:
    void print(engine::SessionLink& link, std::string_view text);

    std::mutex lock_;
    FixPrinter printer_;
    std::atomic<std::uint64_t>* printed_;
};

}  // namespace millpond::fixd
