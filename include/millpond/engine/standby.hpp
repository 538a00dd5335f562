#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/engine/proxy.hpp>
#include <millpond/engine/tls.hpp>

namespace millpond::engine {

/// What a session's messages wait for.
enum class StandbyMode : std::uint8_t {
    none,      ///< Nothing: they are sent, and copied meanwhile.
    received,  ///< Their bytes reach the counterparty's socket once the standby has them.
};

/// What a session does when its standby is lost.
enum class OnStandbyLoss : std::uint8_t {
    /// It loses its connection, and gets none until the standby has everything again. A session that was promoted goes
    /// on without until a standby has had everything once: the machine that it took over from may never come back.
    stop,
    go_on,  ///< It continues without.
};

/// The machine that holds a copy of a session's store: a ReplicaServer. The store must be in a file.
struct StandbyOptions {
    Host host{};
    StandbyMode mode{StandbyMode::received};
    OnStandbyLoss on_loss{OnStandbyLoss::stop};
    /// The standby is lost when it has not acknowledged something for so long, or was not connected.
    std::chrono::nanoseconds timeout{std::chrono::seconds{2}};
    std::optional<TlsOptions> tls{};
    std::string token{};  ///< Shown to the standby, once its certificate is checked.
};

/// A session's standby at some moment.
struct StandbyStatus {
    enum class State : std::uint8_t {
        off,         ///< There is none.
        connecting,  ///< No connection; its timeout is not over.
        filling,     ///< It gets what it lacks.
        attached,    ///< It has everything, but for what is on its way.
        lost,        ///< Its timeout is over.
        superseded,  ///< It has taken over, and this session does not run any more.
    };
    State state{State::off};
    StandbyMode mode{StandbyMode::none};
    OnStandbyLoss on_loss{OnStandbyLoss::stop};
    bool goes_on{false};       ///< It continues without the standby, because of on_loss or a promotion.
    std::uint64_t behind{0};   ///< Messages sent that it may not have.
    std::uint64_t losses{0};   ///< Times that it was lost.
    std::uint64_t skipped{0};  ///< Messages that left the store before it could have them.
    std::uint64_t epoch{0};    ///< Of the store.
    std::string error{};       ///< Of the latest connection; empty: none.
};

[[nodiscard]] std::string_view name(StandbyStatus::State state) noexcept;

}  // namespace millpond::engine
