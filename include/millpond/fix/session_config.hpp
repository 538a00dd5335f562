#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <millpond/fix/application_version.hpp>
#include <millpond/fix/schedule.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/fix/validator.hpp>
#include <millpond/fix/version.hpp>

namespace millpond::fix {

enum class Role : std::uint8_t { acceptor, initiator };

/// A field that goes out as it is.
struct FieldValue {
    Tag tag{tag::kInvalid};
    std::string value{};
};

/// A message type that our Logon names in NoMsgTypes(384).
struct LogonMessageType {
    std::string type{};                           ///< RefMsgType(372).
    bool sends{true};                             ///< MsgDirection(385): S, otherwise R.
    std::optional<ApplicationVersion> version{};  ///< RefApplVerID(1130), with FIXT 1.1.
    /// DefaultVerIndicator(1410): messages of this type without ApplVerID(1128) have that version.
    bool is_default{false};
};

/// What a session is and how it behaves. The values are what most counterparties expect.
struct SessionConfig {
    Version version{Version::fix44};
    Role role{Role::acceptor};
    std::string sender_comp_id{};       ///< Ours.
    std::string target_comp_id{};       ///< The peer's.
    std::string default_appl_ver_id{};  ///< DefaultApplVerID(1137), 2 to 10; needed with FIXT 1.1.
    /// Application versions that a FIXT 1.1 session carries besides that one.
    std::vector<ApplicationDictionary> further_versions{};
    std::string username{};  ///< Of the initiator's Logon; empty: not sent.
    std::string password{};
    /// Fields of our Logon, as AdminDraft::set takes them.
    std::vector<FieldValue> logon_fields{};
    /// Message types that our Logon names, from FIX 4.2 on; kMostLogonTypes at most. The messages are the
    /// application's.
    std::vector<LogonMessageType> logon_types{};
    static constexpr std::size_t kMostLogonTypes = 12;
    /// Header fields of every message: 50, 57, 115, 116, 128, 129, 142 to 145. Those of a message's Routing go first.
    std::vector<FieldValue> header_fields{};

    /// What the initiator asks for, up to kMaxHeartbeatSeconds; 0: none. An acceptor follows its peer.
    std::int64_t heartbeat_seconds{30};
    std::int64_t logon_timeout_ns{10'000'000'000};
    std::int64_t logout_timeout_ns{10'000'000'000};
    /// How far SendingTime may lie from our time; 0: not compared.
    std::int64_t max_latency_ns{120'000'000'000};
    /// Of the times that we write; where not set, milliseconds from FIX 4.2 on and seconds before.
    std::optional<TimePrecision> time_precision{};

    bool reset_on_logon{false};
    bool reset_on_logout{false};
    bool reset_on_disconnect{false};
    /// Resets both numbers when the connection ends by a fault: a timeout, a number that is too low, a message that
    /// could not be sent. An acceptor does not before the Logon is complete: anyone can send it one.
    bool reset_on_error{false};
    /// Rejects a whole message with a wrong CheckSum or a field that cannot be read, when its number is the next one,
    /// and counts it as received. The standard lets it be ignored and asked for again. Not Logon and SequenceReset.
    bool reject_garbled{false};
    bool check_comp_ids{true};  ///< Of messages behind the Logon; those of a Logon always are.
    /// Reads the store's state again from its memory or file when a connection comes up: another machine may have run
    /// the session meanwhile.
    bool refresh_on_logon{false};
    bool send_last_processed{false};  ///< LastMsgSeqNumProcessed(369) in every header.
    /// DefaultApplVerID(1137) in BusinessMessageReject, with FIXT 1.1: what QuickFIX sends, and no dictionary knows.
    bool appl_ver_id_in_business_reject{false};
    /// Replies as QuickFIX's acceptance scripts expect them, which leave out what the standard's test cases ask for: no
    /// RefTagID where the reason names the field, no Text in a Logout behind a Reject or in answer to a Logout, no
    /// reply to a Logon that is refused, and the connection is closed with the answer to a Logout.
    bool quickfix_replies{false};
    bool send_next_expected{false};  ///< NextExpectedMsgSeqNum(789) in Logon, and no ResendRequest after it.

    /// A resend that brings nothing new for so long is asked for once more: a part of it may have been garbled.
    std::int64_t resend_timeout_ns{10'000'000'000};
    std::uint64_t resend_request_chunk{0};  ///< Numbers asked for at once; 0: all that are missing.
    std::size_t resend_burst{64};           ///< Messages resent before the caller gets its turn.
    std::size_t max_message_bytes{std::size_t{16} * 1024};
    std::size_t held_messages{1024};  ///< Messages that came too early and wait for the missing ones.
    std::size_t held_bytes{std::size_t{256} * 1024};

    Validator::Options validation{};
    std::optional<Schedule> schedule{};  ///< When the session runs; not set: always.
};

}  // namespace millpond::fix
