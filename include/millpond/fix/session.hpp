#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/core/moment.hpp>
#include <millpond/fix/application_versions.hpp>
#include <millpond/fix/held_messages.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/routing.hpp>
#include <millpond/fix/session_config.hpp>
#include <millpond/fix/session_counters.hpp>
#include <millpond/fix/session_handler.hpp>
#include <millpond/fix/validator.hpp>
#include <millpond/fix/wire_bounds.hpp>
#include <millpond/fix/writer.hpp>

namespace millpond::fix {

/// One FIX session as a state machine: bytes and time go in, bytes, deadlines and events come out. It holds no socket
/// and no clock. Timeouts and intervals follow a Moment's monotonic time, timestamps and the schedule its UTC. Every
/// message it sends is encoded into the store and goes out from there; the session is the only one that writes the
/// store.
///
/// Threads: one.
/// Memory:  parser, held messages and one message of scratch, taken in the constructor; none afterwards.
/// Source:  FIX session layer (FIX 4.4 volume 2, "Session protocol"; FIXT 1.1), test cases 1 to 20.
class Session {
public:
    enum class State : std::uint8_t { disconnected, awaiting_logon, active, awaiting_logout };

    static constexpr std::size_t kMostReasonBytes = 256;  ///< Of the reason for a Logout.

    /// session, application: as for Validator. All must outlive the session, and so must the dictionaries of
    /// config.further_versions. Throws std::invalid_argument when an id is missing or a version is wrong.
    Session(SessionConfig config, const Dictionary& session, const Dictionary* application, MessageStore& store,
            SessionHandler& handler, core::Moment now);

    /// The connection is established. An initiator sends its Logon.
    void on_connect(core::Moment now);
    /// The connection is gone.
    void on_disconnect(core::Moment now);
    /// Takes all whole messages at the front of the stream's bytes and returns how many bytes are done with; the rest
    /// is given again with what comes behind it.
    [[nodiscard]] std::size_t on_bytes(std::span<const std::byte> bytes, core::Moment now);
    /// Call at next_deadline_ns or later; more often does no harm.
    void on_timer(core::Moment now);
    /// The connection is not congested any more.
    void on_writable(core::Moment now) { continue_resend(now); }
    /// The monotonic time at which on_timer must be called; INT64_MAX: never.
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;

    /// Sends an application message: `fill(Writer&)` adds the body and may say by a bool whether it could. False, and
    /// no number is used up, when it could not, the session is not logged on, the message is too long or holds a
    /// delimiter, or the store has no room. At the last number, kMaxSequence, the session logs out instead.
    template <class Fill>
    [[nodiscard]] bool send(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing = {}) {
        if (state_ != State::active || closing_) return false;
        const auto written = write_message(msg_type, now, std::forward<Fill>(fill), routing);
        if (written == Written::no_number) [[unlikely]]
            end_numbers(now);
        return written == Written::yes;
    }

    /// Whether the session is logged on and its connection is not about to end: `send` may take a message.
    [[nodiscard]] bool takes_messages() const noexcept { return state_ == State::active && !closing_; }

    /// Whether `keep` may take a message: the session is not logged on, its schedule is open, and a connection that
    /// still exists is not of an earlier run.
    [[nodiscard]] bool may_keep(core::Moment now) const noexcept;
    /// As `send`, for a session that is not logged on: the message gets its number and stays in the store. The peer
    /// finds the gap at its next logon and asks for it. Where the schedule's run that the numbers belong to is over,
    /// they are reset first. False, and no number is used up, as for `send`, where `may_keep` is false, and where the
    /// next logon would find no room in the store.
    template <class Fill>
    [[nodiscard]] bool keep(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing = {}) {
        if (!may_keep(now)) return false;
        if (state_ == State::disconnected) begin_run(now);
        return write_message<false>(msg_type, now, std::forward<Fill>(fill), routing) == Written::yes;
    }

    /// Whether `keep` may take messages at all: not while another process has the session.
    void allow_keeping(bool allowed) noexcept { may_keep_ = allowed; }

    /// Encodes a message into scratch memory and touches the store's next lines, so that the next message finds code
    /// and memory in the caches. Sends nothing, uses no number and changes no state.
    void warm_up(core::Moment now) noexcept;

    /// Begins the Logout handshake; does nothing when not logged on. reason: its Text(58); what cannot be sent in one
    /// is replaced, and what is longer than kMostReasonBytes is cut off.
    void logout(std::string_view reason, core::Moment now);
    /// Resets both numbers. Not while logged on: then it begins the Logout handshake first.
    void reset(core::Moment now);

    [[nodiscard]] State state() const noexcept { return state_; }
    /// Why the connection is about to end though it is still there: the peer may answer our Logout, or close the
    /// connection after we answered its Logout.
    [[nodiscard]] std::optional<Disconnect> ending() const noexcept { return ending_; }
    /// A ResendRequest of the peer is being answered.
    [[nodiscard]] bool is_resending() const noexcept { return !resend_.empty(); }
    /// Our ResendRequest is not answered yet.
    [[nodiscard]] bool awaits_resend() const noexcept { return requested_to_ != 0; }
    [[nodiscard]] const SessionConfig& config() const noexcept { return config_; }
    [[nodiscard]] const MessageStore& store() const noexcept { return *store_; }
    /// Which version an application message has. Without a version below FIXT 1.1.
    [[nodiscard]] const ApplicationVersions& application_versions() const noexcept { return versions_; }

    using Counters = SessionCounters;
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

private:
    struct Inbound {
        const Message& message;
        std::uint64_t sequence;
        core::Moment now;
        bool was_held{false};  // CompIDs and SendingTime were compared when it came
    };
    struct LogonFault;
    /// What became of a message to send.
    enum class Written : std::uint8_t {
        yes,
        no_room,      // the store is full of what the peer has not taken
        not_encoded,  // too long, a delimiter in a value, or not filled
        no_number,    // the last one is the Logout's
        refused,      // by the handler: a Logon
    };
    struct Range {
        std::uint64_t next{1};
        std::uint64_t last{0};
        std::uint64_t gap{1};   // first number that waits to be filled; `next` when none does
        std::uint64_t lost{0};  // of the gap, numbers that are not in the store
        LostHistory all{};      // of the whole range
        [[nodiscard]] bool empty() const noexcept { return next > last; }
    };

    // What comes in: session_inbound.cpp, and until the Logon is complete session_logon.cpp
    void on_frame(const Frame& frame, core::Moment now);
    void on_garbled(const Frame& frame, core::Moment now);
    void on_parsed(const Message& message, core::Moment now, bool was_held);
    void on_parsed_before_logon(const Message& message, core::Moment now);
    void on_first_logon(const Inbound& in);
    [[nodiscard]] std::optional<LogonFault> fault_of_logon(const Inbound& in) noexcept;
    [[nodiscard]] static std::optional<LogonFault> fault_of_next_expected(const Message& logon,
                                                                          std::uint64_t next_sender) noexcept;
    void refuse_logon(const LogonRefusal& why);
    void refuse_logon(const Inbound& in, const LogonFault& fault);
    void on_logon_again(const Inbound& in);
    void reset_by_logon(const Inbound& in);
    [[nodiscard]] Tag wrong_comp_id(const Message& message) const noexcept;
    [[nodiscard]] bool is_timely(const Message& message, core::Moment now) const noexcept;
    [[nodiscard]] bool passes_identity(const Inbound& in);
    [[nodiscard]] bool passes_poss_dup(const Inbound& in);
    [[nodiscard]] std::optional<Rejection> check(const Message& message) noexcept;
    void sort_by_number(const Inbound& in);
    void on_too_high(const Inbound& in);
    void on_too_low(const Inbound& in);
    void process_in_turn(const Inbound& in);
    void on_test_request(const Inbound& in);
    void on_resend_request(const Inbound& in);
    void on_sequence_reset(const Inbound& in);
    void on_logout_message(const Inbound& in);
    void deliver(const Inbound& in);
    void take_number(std::uint64_t sequence) noexcept;
    void forget_ahead() noexcept;
    void process_held(core::Moment now);
    void request_missing(std::uint64_t first_held, core::Moment now);

    // What goes out: session_outbound.cpp
    void send_logon(core::Moment now, bool reset);
    void send_heartbeat(std::string_view test_req_id, core::Moment now);
    void send_logout(std::string_view text, core::Moment now);
    /// text: in place of the reason's words.
    void send_reject(const Inbound& in, const Rejection& rejection, std::string_view text = {});
    /// The same with a field that QuickFIX does not name.
    void send_full_reject(const Inbound& in, RejectReason reason, std::string_view tag_text,
                          std::string_view text = {});
    void send_reply_logout(std::string_view text, core::Moment now);
    void send_business_reject(const Inbound& in, Verdict verdict);
    void continue_resend(core::Moment now);
    void resend_gap(std::uint64_t from, std::uint64_t next, core::Moment now);
    [[nodiscard]] bool resend_message(const Message& message, core::Moment now);
    [[nodiscard]] bool is_worth_resending(const Message& message);
    void begin_resend(std::uint64_t first, std::uint64_t last, core::Moment now);
    void end_resend();
    [[nodiscard]] std::string_view echoed(std::string_view value) const noexcept;
    [[nodiscard]] Routing way_back(const Message& message) const noexcept;
    void fail_admin(Written why, core::Moment now);
    void end_numbers(core::Moment now);
    [[nodiscard]] bool run_is_over(core::Moment now) const noexcept;
    void begin_run(core::Moment now) noexcept;
    void add_header(Writer& writer, std::string_view msg_type, std::uint64_t sequence, core::Moment now,
                    const Routing& routing) const;
    void add_tail_of_header(Writer& writer, const Routing& routing) const;
    void add_routing(Writer& writer, const Routing& routing) const;
    [[nodiscard]] std::span<char> draft_room() noexcept { return {draft_memory_.data(), config_.max_message_bytes}; }
    void complete(AdminDraft& draft);
    [[nodiscard]] Written send_draft(std::optional<std::string_view> message, core::Moment now);
    void hand_over(std::string_view bytes, core::Moment now);
    void disconnect(Disconnect reason);
    void tell_logout(std::string_view text);

    [[nodiscard]] static bool is_used_up(std::uint64_t sequence, std::string_view msg_type) noexcept {
        return sequence >= kMaxSequence && (sequence > kMaxSequence || msg_type != "5");
    }
    /// Sends: hands it over to the handler; else it only stays in the store.
    template <bool Sends = true, class Fill>
    Written write_message(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing) {
        const auto sequence = store_->next_sender();
        if (is_used_up(sequence, msg_type)) [[unlikely]]
            return Written::no_number;
        const auto bytes_at_most = config_.max_message_bytes;
        const auto room = Sends ? store_->claim(bytes_at_most) : store_->claim_with_spare(bytes_at_most);
        if (room.empty()) return Written::no_room;
        Writer writer{room, begin_string(config_.version)};
        add_header(writer, msg_type, sequence, now, routing);
        bool filled = true;
        if constexpr (std::is_same_v<std::invoke_result_t<Fill&, Writer&>, bool>) {
            filled = fill(writer);
        } else {
            fill(writer);
        }
        const auto bytes = filled ? writer.finish() : std::nullopt;
        if (!bytes) {
            store_->abandon();
            return Written::not_encoded;
        }
        if constexpr (Sends) {
            hand_over(*bytes, now);
        } else {
            static_cast<void>(store_->commit(*bytes));
            counters_.kept.add();
        }
        return Written::yes;
    }
    /// A session message, which the handler sees before it is in the store.
    template <class Fill>
    Written write_draft(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing = {}) {
        const auto sequence = store_->next_sender();
        if (is_used_up(sequence, msg_type)) return Written::no_number;
        Writer writer{draft_room(), begin_string(config_.version)};
        add_header(writer, msg_type, sequence, now, routing);
        fill(writer);
        return send_draft(writer.finish(), now);
    }
    /// For messages that the session owes: without them it cannot continue.
    template <class Fill>
    void write_admin(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing = {}) {
        const auto written = write_draft(msg_type, now, std::forward<Fill>(fill), routing);
        if (written != Written::yes) [[unlikely]]
            fail_admin(written, now);
    }

    SessionConfig config_;
    TimePrecision precision_;
    MessageStore* store_;
    SessionHandler* handler_;
    Parser parser_;
    Parser stored_parser_;  // of resends: the message that asked for them is still in use
    Validator validator_;
    ApplicationVersions versions_;
    HeldMessages held_;
    std::vector<Field> spill_;
    std::vector<char> scratch_;       // a resent message
    std::vector<char> draft_memory_;  // a session message, and the values that the handler gives it
    std::string header_fields_;       // of config_, as they go out

    State state_{State::disconnected};
    bool closing_{false};         // a disconnect was asked for: nothing more is taken or sent
    bool ended_by_fault_{false};  // the newest connection
    bool reset_wanted_{false};    // by `reset` while logged on
    bool may_keep_{true};
    bool logout_sent_{false};
    bool reset_sent_{false};            // our Logon had ResetSeqNumFlag
    std::optional<Disconnect> ending_;  // only a Logout, or the end of the connection, is waited for
    bool application_is_on_{false};     // it was notified of the logon and not yet of the logout
    std::int64_t heartbeat_ns_{0};
    // Monotonic times, as progress_ns_ below.
    std::int64_t connected_ns_{0};
    std::int64_t last_sent_ns_{0};
    std::int64_t last_received_ns_{0};
    std::int64_t logout_ns_{0};
    std::int64_t schedule_due_ns_{0};  // when the schedule is looked at
    bool test_request_sent_{false};
    std::uint64_t requested_to_{0};  // last number of the pending ResendRequest; 0: none
    std::int64_t progress_ns_{0};    // when the last number was taken, or a ResendRequest sent
    std::uint64_t highest_seen_{0};  // highest number that came too early
    std::uint64_t early_logon_{0};   // number of the Logon that came before what it was behind; 0: it came in turn
    Range resend_;
    Counters counters_;
};

}  // namespace millpond::fix
