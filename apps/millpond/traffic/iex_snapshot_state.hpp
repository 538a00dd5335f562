#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <millpond/feed/iex_gap_fill.hpp>
#include <millpond/feed/iex_packet.hpp>

#include "apps/millpond/traffic/iex_history.hpp"

namespace millpond::traffic {

/// The state of an IEX DEEP or DEEP+ session as the response of a SNAP server: directory, newest system event, newest
/// states of each symbol, its levels or orders. It follows the messages themselves, with no code of the book builder.
///
/// Threads: one.
/// Source:  iex_snap.hpp; DEEP SNAP 1.6, page 11, DEEP+ SNAP 1.05, page 13 (contents).
class IexSnapshotState {
public:
    IexSnapshotState(std::uint16_t protocol, const feed::IexSession& session) noexcept
        : protocol_(protocol), session_(session) {}

    [[nodiscard]] const feed::IexSession& session() const noexcept { return session_; }
    /// Number of the last message that was applied; 0: none.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    /// Applies the next message of the session. Messages that are shorter than IEX's change nothing.
    void apply(const IexHistory::Message& message);
    /// The bytes of the response.
    [[nodiscard]] std::vector<std::byte> response() const;

private:
    /// A message with what its segment's header says.
    struct Kept {
        std::vector<std::byte> bytes;
        std::uint64_t number{0};
        std::uint64_t offset{0};
        std::int64_t send_utc_ns{0};
    };
    using Symbol = std::string;  // its eight characters

    void set_level(Kept kept);
    void modify(const Kept& kept);
    void reduce(const Kept& kept);
    void add_data(std::vector<std::byte>& out, const Kept& kept) const;

    std::uint16_t protocol_;
    feed::IexSession session_;
    std::uint64_t number_{0};
    Kept system_event_;
    std::map<Symbol, Kept> directory_;
    std::map<std::pair<Symbol, std::uint8_t>, Kept> states_;  // by symbol and type
    std::map<std::tuple<Symbol, char, std::int64_t>, Kept> levels_;
    std::map<std::uint64_t, Kept> orders_;  // their add messages, with what is left and the newest price
};

}  // namespace millpond::traffic
