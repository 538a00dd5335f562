#pragma once

#include <cstdint>

namespace millpond::fix {

/// Role of a store's machine in a standby pair.
enum class StoreRole : std::uint8_t {
    primary = 0,   ///< The machine that runs the session.
    filling = 1,   ///< A standby that lacks messages that the counterparty may have.
    replica = 2,   ///< A standby that may take over.
    promoted = 3,  ///< A standby that took over: its session runs.
};

/// State of a FileStore in a standby pair. It survives the process.
struct StandbyState {
    StoreRole role{StoreRole::primary};
    std::uint64_t epoch{0};  ///< Increases with each promotion; the machine with the greater epoch has precedence.
    std::uint64_t epoch_first{0};    ///< Number of the first message of this epoch; 0: unknown.
    std::uint64_t superseded_by{0};  ///< Epoch of the machine that took over from this one; 0: none.
    /// In a replica: the next_sender that belongs to its next_target. Later messages arrived without a matching
    /// next_target. 0: there are none.
    std::uint64_t replica_next{0};
    std::uint64_t lineage{0};       ///< Id shared by a store and its copies; 0: it was never copied.
    std::uint64_t copied_epoch{0};  ///< Epoch in which a standby last had the complete store.

    /// Whether no standby has had the complete store since it was promoted.
    [[nodiscard]] bool is_alone() const noexcept { return copied_epoch != epoch; }

    [[nodiscard]] bool is_superseded() const noexcept { return superseded_by > epoch; }
    [[nodiscard]] bool is_replica() const noexcept { return role == StoreRole::filling || role == StoreRole::replica; }
    friend bool operator==(const StandbyState&, const StandbyState&) = default;
};

}  // namespace millpond::fix
