#pragma once

#include <cstdint>

namespace millpond::fix {

/// Which of a session's machines a store belongs to.
enum class StoreRole : std::uint8_t {
    primary = 0,   ///< The one whose session runs.
    filling = 1,   ///< A standby that lacks messages which the counterparty may have.
    replica = 2,   ///< A standby that may take over.
    promoted = 3,  ///< A standby that took over: its session runs.
};

/// What a FileStore knows of the other machine of its session. It survives the process.
struct StoreStanding {
    StoreRole role{StoreRole::primary};
    std::uint64_t epoch{0};          ///< Grows with each promotion; of two machines the greater one counts.
    std::uint64_t epoch_first{0};    ///< Number of the first message of this epoch; 0: not known.
    std::uint64_t superseded_by{0};  ///< Epoch of the machine that took over from this one; 0: none.
    /// Of a replica: the next_sender that its next_target belongs to. Messages from there on came without the number of
    /// what they answer. 0: there are none.
    std::uint64_t replica_next{0};
    std::uint64_t lineage{0};       ///< The same in a store and its copies, and in no other; 0: it never had a copy.
    std::uint64_t copied_epoch{0};  ///< In which a standby last had all of it.

    /// Whether no standby has had all of it since it was promoted.
    [[nodiscard]] bool is_alone() const noexcept { return copied_epoch != epoch; }

    [[nodiscard]] bool is_superseded() const noexcept { return superseded_by > epoch; }
    [[nodiscard]] bool is_replica() const noexcept { return role == StoreRole::filling || role == StoreRole::replica; }
    friend bool operator==(const StoreStanding&, const StoreStanding&) = default;
};

}  // namespace millpond::fix
