#pragma once

#include <millpond/core/tally.hpp>

namespace millpond::fix {

/// What a session has counted since it was made.
///
/// Threads: written on the session's; read on any.
struct SessionCounters {
    core::Tally received;       ///< Complete messages.
    core::Tally sent;           ///< Messages with a new number.
    core::Tally garbled;        ///< Stretches of bytes that were no message, ignored.
    core::Tally rejected;       ///< Rejects sent.
    core::Tally duplicates;     ///< PossDup messages ignored: they were had.
    core::Tally held;           ///< Out-of-order messages that were held.
    core::Tally held_dropped;   ///< Out-of-order messages for which there was no room.
    core::Tally requests;       ///< ResendRequests sent.
    core::Tally resent;         ///< Messages resent.
    core::Tally gap_fills;      ///< Gap fills sent.
    core::Tally lost_fills;     ///< Of these, those in place of messages that are not in the store.
    core::Tally lost;           ///< Requested messages that are not in the store.
    core::Tally lost_requests;  ///< ResendRequests for such messages.
    core::Tally withheld;       ///< Requested messages that the handler refused to resend.
    core::Tally beyond;         ///< ResendRequests for numbers that were not sent yet, rejected.
    core::Tally warm_ups;       ///< Times that the session was warmed up.
    core::Tally kept;           ///< Messages with a number that were stored while not logged on.
};

}  // namespace millpond::fix
