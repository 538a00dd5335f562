#include "fixd/applications/print_application.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace millpond::fixd {

void PrintApplication::print(engine::SessionLink& link, std::string_view text) {
    fmt::print("{} {}", link.handle().name(), text);
    std::fflush(stdout);
}

void PrintApplication::on_logon(engine::SessionLink& link) {
    const std::lock_guard guard{lock_};
    print(link, "logged on\n");
}

void PrintApplication::on_logout(engine::SessionLink& link, std::string_view text) {
    const std::lock_guard guard{lock_};
    print(link, fmt::format("logged out{}{}\n", text.empty() ? "" : ": ", text));
}

void PrintApplication::on_closed(engine::SessionLink& link, engine::Closed reason) {
    const std::lock_guard guard{lock_};
    print(link, fmt::format("closed: {}\n", name(reason)));
}

fix::Verdict PrintApplication::on_message(engine::SessionLink& link, const fix::Message& message) {
    const std::lock_guard guard{lock_};
    const auto& versions = link.session().application_versions();
    const auto version = versions.of(message);
    const auto* const own = version ? versions.dictionary(*version) : nullptr;
    print(link, own != nullptr ? printer_.text(message.bytes(), own) : printer_.text(message.bytes()));
    if (printed_ != nullptr) printed_->fetch_add(1, std::memory_order_release);
    return fix::Verdict::accepted;
}

void PrintApplication::on_reject(engine::SessionLink& link, const fix::Message& reject) {
    const std::lock_guard guard{lock_};
    print(link, printer_.text(reject.bytes()));
}

}  // namespace millpond::fixd
