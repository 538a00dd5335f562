#pragma once

#include <string>
#include <string_view>

#include <millpond/fix/session_config.hpp>

namespace millpond::fix {

/// Identity of the session that owns a store. Other sessions cannot open the store.
///
/// Threads: a value.
struct StoreIdentity {
    std::string begin_string{};
    std::string sender_comp_id{};  ///< Our CompID.
    std::string target_comp_id{};  ///< The counterparty's CompID.
    std::string sender_sub_id{};
    std::string sender_location_id{};
    std::string target_sub_id{};
    std::string target_location_id{};
    std::string qualifier{};  ///< Distinguishes sessions with the same ids; not in messages.

    /// Whether the identity is empty.
    [[nodiscard]] bool empty() const { return *this == StoreIdentity{}; }
    /// Formats the identity as "FIX.4.4:HOUSE->CLIENT"; SubID and LocationID follow their CompID, each after a '/', and
    /// the qualifier comes last after a ':'. "HOUSE//PARIS" has only a LocationID.
    [[nodiscard]] std::string name() const;

    /// Identity of the session of `config`.
    [[nodiscard]] static StoreIdentity of(const SessionConfig& config);

    /// Formats the identity for a store's header: eight fields, each followed by the byte 0x01. Throws
    /// std::invalid_argument if it is too long for a header.
    [[nodiscard]] std::string text() const;
    /// Parses the form in a store's header; missing fields are empty.
    [[nodiscard]] static StoreIdentity of_text(std::string_view text);

    bool operator==(const StoreIdentity&) const = default;
};

}  // namespace millpond::fix
