#pragma once

#include <string>
#include <string_view>

namespace millpond::fix {

/// Whose messages a store keeps. A store that has one is refused to any other session.
///
/// Threads: a value.
struct StoreIdentity {
    std::string begin_string{};
    std::string sender_comp_id{};  ///< Ours.
    std::string target_comp_id{};  ///< The counterparty's.
    std::string sender_sub_id{};
    std::string target_sub_id{};
    std::string qualifier{};  ///< Of sessions that are alike in all else.

    /// No session at all.
    [[nodiscard]] bool empty() const { return *this == StoreIdentity{}; }
    /// "FIX.4.4:HOUSE->CLIENT"; sub IDs follow their CompID after a '/', the qualifier comes last after a ':'.
    [[nodiscard]] std::string name() const;

    /// As a store's header keeps it: the six fields, each with the byte 0x01 behind it.
    /// Throws std::invalid_argument when it is longer than a header has room for.
    [[nodiscard]] std::string text() const;
    /// The reverse; fields that are missing are empty.
    [[nodiscard]] static StoreIdentity of_text(std::string_view text);

    bool operator==(const StoreIdentity&) const = default;
};

}  // namespace millpond::fix
