#pragma once

#include <millpond/core/tally.hpp>

namespace millpond::fix {

/// Counters of a session since its construction.
///
/// Threads: written on the session's thread; read on any.
struct SessionCounters {
    core::Tally received;       ///< Complete messages.
    core::Tally sent;           ///< Messages with a new number.
    core::Tally garbled;        ///< Garbled byte sequences, ignored.
    core::Tally too_long;       ///< Messages longer than max_message_bytes, ignored.
    core::Tally rejected;       ///< Rejects sent.
    core::Tally duplicates;     ///< PossDup messages ignored: received before.
    core::Tally held;           ///< Out-of-order messages that were held.
    core::Tally held_dropped;   ///< Out-of-order messages dropped because the memory was full.
    core::Tally requests;       ///< ResendRequests sent.
    core::Tally resent;         ///< Messages resent.
    core::Tally gap_fills;      ///< Gap fills sent.
    core::Tally lost_fills;     ///< Gap fills in place of messages that are missing in the store or damaged.
    core::Tally lost;           ///< Requested messages that are missing in the store or damaged.
    core::Tally lost_requests;  ///< ResendRequests for such messages.
    core::Tally withheld;       ///< Requested messages that the handler refused to resend.
    core::Tally beyond;         ///< Rejected ResendRequests: for numbers that were not sent yet.
    core::Tally warm_ups;       ///< Times that the session was warmed up.
    core::Tally kept;           ///< Messages stored while not logged on.
};

}  // namespace millpond::fix
