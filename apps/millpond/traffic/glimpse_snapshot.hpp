#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace millpond::traffic {

/// The state of an ITCH 5.0 session as the messages of a GLIMPSE 5.0 snapshot: newest system event, directory, trading
/// actions, short sale restrictions, operational halts and live orders, then the number of the first message that the
/// snapshot does not have. It follows the messages themselves, with no code of the book builder.
///
/// Threads: one.
/// Source:  "Nasdaq GLIMPSE", version 5.0 of 13 February 2026: pages 2 and 3 (order), 1.1 to 1.8 (messages).
class GlimpseSnapshot {
public:
    using Message = std::vector<std::byte>;

    /// Applies the next message of the session. Messages of other lengths than ITCH's change nothing.
    void apply(std::span<const std::byte> message);
    /// The snapshot's messages.
    [[nodiscard]] std::vector<Message> messages() const;

private:
    void reduce(std::uint64_t order, std::uint32_t shares);
    void replace(std::span<const std::byte> message);

    std::uint64_t next_{1};
    Message system_event_;
    std::map<std::uint16_t, Message> directory_;  // by stock locate
    std::map<std::uint16_t, Message> actions_;
    std::map<std::uint16_t, Message> restrictions_;
    std::map<std::pair<std::uint16_t, char>, Message> halts_;  // by stock locate and market
    std::unordered_map<std::uint64_t, Message> orders_;        // their add messages, with the shares that are left
};

}  // namespace millpond::traffic
