#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <vector>

#include <millpond/fix/message.hpp>

#include "src/engine/session/session_host.hpp"

namespace millpond::engine {

/// The sessions of an acceptor. A Logon names a session by BeginString, SenderCompID and TargetCompID (FIX session
/// layer, section 4.2: an identity has one connection at a time, and a second one does not disturb the first), and by
/// the SubIDs and LocationIDs that the session has. A session without them accepts Logons with any, unless another
/// session has them.
///
/// Threads: any; the list changes only when sessions are added or removed.
class Roster {
public:
    enum class Refusal : std::uint8_t {
        unknown,   ///< No session has this identity.
        duplicate  ///< It is connected already.
    };

    /// Adds a session, whose identity must be new.
    void add(std::shared_ptr<SessionHost> host);
    void remove(const SessionHost& host);
    /// The session that a Logon of this identity names; null if there is none.
    [[nodiscard]] std::shared_ptr<SessionHost> find(const fix::SessionConfig& identity) const;
    /// The session that a Logon names; null if there is none.
    [[nodiscard]] std::shared_ptr<SessionHost> named_by(const fix::Message& logon) const;
    /// The wrong field of a Logon that names no session: the one that differs from the most similar session.
    [[nodiscard]] fix::Tag fault_of(const fix::Message& logon) const;
    /// Claims the session that a Logon names for its connection.
    [[nodiscard]] std::expected<std::shared_ptr<SessionHost>, Refusal> claim(const fix::Message& logon) const;
    [[nodiscard]] std::vector<std::shared_ptr<SessionHost>> all() const;
    [[nodiscard]] std::size_t claimed() const;

private:
    [[nodiscard]] std::shared_ptr<SessionHost> best(const fix::Message& logon) const;

    mutable std::mutex lock_;
    std::vector<std::shared_ptr<SessionHost>> hosts_;
};

}  // namespace millpond::engine
