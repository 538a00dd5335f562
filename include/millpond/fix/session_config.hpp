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

/// A field that is sent with this value.
struct FieldValue {
    Tag tag{tag::kInvalid};
    std::string value{};
    friend bool operator==(const FieldValue&, const FieldValue&) = default;
};

/// A message type in NoMsgTypes(384) of our Logon.
struct LogonMessageType {
    std::string type{};                           ///< RefMsgType(372).
    bool sends{true};                             ///< MsgDirection(385): S, otherwise R.
    std::optional<ApplicationVersion> version{};  ///< RefApplVerID(1130), with FIXT 1.1.
    /// DefaultVerIndicator(1410): messages of this type without ApplVerID(1128) have this version.
    bool is_default{false};
    friend bool operator==(const LogonMessageType&, const LogonMessageType&) = default;
};

/// Identity and behaviour of a session. The defaults suit most counterparties.
struct SessionConfig {
    Version version{Version::fix44};
    Role role{Role::acceptor};
    std::string sender_comp_id{};  ///< Our CompID.
    std::string target_comp_id{};  ///< The peer's CompID.
    /// SenderSubID(50), SenderLocationID(142), TargetSubID(57) and TargetLocationID(143): parts of the identity, and
    /// header fields of every message. A Logon to an acceptor must have the values of those that are set.
    std::string sender_sub_id{};
    std::string sender_location_id{};
    std::string target_sub_id{};
    std::string target_location_id{};
    /// Distinguishes initiators with the same ids: part of the identity, but not sent.
    std::string qualifier{};
    std::string default_appl_ver_id{};  ///< DefaultApplVerID(1137), 2 to 10; required with FIXT 1.1.
    /// Further application versions of a FIXT 1.1 session.
    std::vector<ApplicationDictionary> further_versions{};
    std::string username{};  ///< Username(553) in an initiator's Logon; empty: not sent.
    std::string password{};
    /// Further fields of our Logon; see AdminDraft::set.
    std::vector<FieldValue> logon_fields{};
    /// Message types in our Logon, from FIX 4.2 on, at most kMaxLogonTypes. The application sends and receives the
    /// messages.
    std::vector<LogonMessageType> logon_types{};
    static constexpr std::size_t kMaxLogonTypes = 12;
    /// Further header fields of every message: 50, 57, 115, 116, 128, 129, 142 to 145. A message's Routing has
    /// precedence.
    std::vector<FieldValue> header_fields{};

    /// Heartbeat interval that the initiator requests, up to kMaxHeartbeatSeconds; 0: none. An acceptor uses the
    /// requested interval, and an initiator uses the one in the acceptor's answer, up to kMaxAnsweredSeconds.
    std::int64_t heartbeat_seconds{30};
    std::int64_t logon_timeout_ns{10'000'000'000};
    std::int64_t logout_timeout_ns{10'000'000'000};
    /// Maximum difference between SendingTime and our time; 0: not checked.
    std::int64_t max_latency_ns{120'000'000'000};
    /// Precision of sent times; not set: milliseconds from FIX 4.2 on and seconds before.
    std::optional<TimePrecision> time_precision{};

    bool reset_on_logon{false};
    bool reset_on_logout{false};
    bool reset_on_disconnect{false};
    /// Resets both numbers if the connection ends by a fault: a timeout, a number that is too low, a message that could
    /// not be sent. An acceptor does so only after the Logon is complete, since anyone can send a Logon.
    bool reset_on_error{false};
    /// Rejects a complete message with a wrong CheckSum or a malformed field, if its number is the next one, and counts
    /// it as received. The standard ignores such messages and requests them again. Not for Logon and SequenceReset.
    bool reject_garbled{false};
    /// Rejects application messages with PossDupFlag and without OrigSendingTime(122).
    bool requires_orig_sending_time{true};
    /// Answers a number that is too low with a Reject and closes the connection; the standard sends a Logout.
    bool reject_low_sequence{false};
    bool check_comp_ids{true};  ///< Checks CompIDs after the Logon; those of a Logon are always checked.
    /// Reads the store's state again from its memory or file when a connection is established: another machine may have
    /// run the session meanwhile.
    bool refresh_on_logon{false};
    bool send_last_processed{false};  ///< Sends LastMsgSeqNumProcessed(369) in every header.
    /// Sends DefaultApplVerID(1137) in BusinessMessageReject with FIXT 1.1, as QuickFIX does, although no dictionary
    /// defines it.
    bool appl_ver_id_in_business_reject{false};
    /// Sends the replies that QuickFIX's acceptance scripts expect, which differ from the standard's test cases: no
    /// RefTagID if the reason names the field, no Text in a Logout after a Reject or in answer to a Logout, no reply to
    /// a refused Logon, and the answer to a Logout closes the connection.
    bool quickfix_replies{false};
    bool send_next_expected{false};  ///< Sends NextExpectedMsgSeqNum(789) in Logon, and no ResendRequest after it.

    /// Time without progress after which a resend is requested again: a part of it may have been garbled.
    std::int64_t resend_timeout_ns{10'000'000'000};
    std::uint64_t resend_request_chunk{0};  ///< Maximum range of a ResendRequest; 0: all missing numbers.
    std::size_t resend_burst{64};           ///< Messages resent before returning to the caller.
    std::size_t max_message_bytes{std::size_t{16} * 1024};
    std::size_t held_messages{1024};  ///< Maximum number of out-of-order messages that wait for the missing ones.
    std::size_t held_bytes{std::size_t{256} * 1024};

    Validator::Options validation{};
    std::optional<Schedule> schedule{};  ///< Times at which the session runs; not set: always.
    friend bool operator==(const SessionConfig&, const SessionConfig&) = default;
};

}  // namespace millpond::fix
