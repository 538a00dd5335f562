#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/engine/proxy.hpp>
#include <millpond/tls/context.hpp>

namespace millpond::engine {

/// Policy for when a session's messages are sent.
enum class StandbyMode : std::uint8_t {
    none,      ///< At once; they are copied to the standby in parallel.
    received,  ///< Once the standby has received them.
};

/// Policy of a session whose standby is lost.
enum class OnStandbyLoss : std::uint8_t {
    /// Disconnects until the standby is complete again. A session that was promoted continues until a standby has been
    /// complete once: the machine that it took over from may never come back.
    stop,
    go_on,  ///< Continues without a standby.
};

/// Options for the machine that holds a copy of a session's store, a ReplicaServer. The store must be in a file.
struct StandbyOptions {
    Host host{};
    StandbyMode mode{StandbyMode::received};
    OnStandbyLoss on_loss{OnStandbyLoss::stop};
    /// The standby is lost after this time without an acknowledgement or a connection.
    std::chrono::nanoseconds timeout{std::chrono::seconds{2}};
    std::optional<tls::Options> tls{};
    std::string token{};  ///< Sent to the standby once its certificate is verified.
    friend bool operator==(const StandbyOptions&, const StandbyOptions&) = default;
};

/// Snapshot of a session's standby.
struct StandbyStatus {
    enum class State : std::uint8_t {
        off,         ///< No standby is configured.
        connecting,  ///< Not connected; the timeout has not passed.
        filling,     ///< Receiving missing messages.
        attached,    ///< Complete except for messages in flight.
        lost,        ///< The timeout has passed.
        superseded,  ///< The standby has taken over, and this session does not run.
    };
    State state{State::off};
    StandbyMode mode{StandbyMode::none};
    OnStandbyLoss on_loss{OnStandbyLoss::stop};
    bool goes_on{false};       ///< Whether the session runs without the standby, because of on_loss or a promotion.
    std::uint64_t behind{0};   ///< Sent messages that are not acknowledged.
    std::uint64_t losses{0};   ///< Times that the standby was lost.
    std::uint64_t skipped{0};  ///< Messages that left the store before they were copied.
    std::uint64_t epoch{0};    ///< Epoch of the store.
    std::string error{};       ///< Error of the latest connection; empty: no error.
};

[[nodiscard]] std::string_view name(StandbyStatus::State state) noexcept;

}  // namespace millpond::engine
