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

/// A FIX session as a state machine: its inputs are bytes and times, its outputs bytes, deadlines and events. It has no
/// socket and no clock. Timeouts and intervals use a Moment's monotonic time, timestamps and the schedule its UTC.
/// Every message is encoded into the store and sent from there; only the session writes the store.
///
/// Threads: one.
/// Memory:  parser, held messages and scratch memory for a message, allocated in the constructor; none afterwards.
/// Source:  FIX session layer (FIX 4.4 volume 2, "Session protocol"; FIXT 1.1), test cases 1 to 20.
class Session {
public:
    enum class State : std::uint8_t { disconnected, awaiting_logon, active, awaiting_logout };

    static constexpr std::size_t kMaxReasonBytes = 256;  ///< Maximum length of a Logout's reason.

    /// session, application: see Validator. All arguments, and the dictionaries of config.further_versions, must
    /// outlive the session. Throws std::invalid_argument if an id is missing or a version is wrong.
    Session(SessionConfig config, const Dictionary& session, const Dictionary* application, MessageStore& store,
            SessionHandler& handler, core::Moment now);

    /// Call when the connection is established. An initiator sends its Logon.
    void on_connect(core::Moment now);
    void on_disconnect(core::Moment now);
    /// Processes all whole messages at the start of the stream's bytes. Returns the number of processed bytes; pass the
    /// others again, followed by the next bytes.
    [[nodiscard]] std::size_t on_bytes(std::span<const std::byte> bytes, core::Moment now);
    /// Call at next_deadline_ns or later; more often is harmless.
    void on_timer(core::Moment now);
    /// Call when the connection is no longer congested.
    void on_writable(core::Moment now) { continue_resend(now); }
    /// Monotonic time at which on_timer must be called; INT64_MAX: never.
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;

    /// Sends an application message: `fill(Writer&)` writes the body and may return false if it cannot. Returns false,
    /// without using a number, if `fill` did, if the session is not logged on, the message is too long or a value
    /// contains a delimiter, or the store is full of unwritten messages. At the last number, kMaxSequence, the session
    /// logs out instead.
    template <class Fill>
    [[nodiscard]] bool send(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing = {}) {
        if (state_ != State::active || closing_) return false;
        const auto written = write_message(msg_type, now, std::forward<Fill>(fill), routing);
        if (written == Written::no_number) [[unlikely]]
            end_numbers(now);
        return written == Written::yes;
    }

    /// Whether `send` accepts messages: the session is logged on and its connection is not about to end.
    [[nodiscard]] bool accepts_messages() const noexcept { return state_ == State::active && !closing_; }

    /// Whether `keep` accepts messages: the session is not logged on, its schedule is open, and no connection of an
    /// earlier run still exists.
    [[nodiscard]] bool may_keep(core::Moment now) const noexcept;
    /// Like `send`, for a session that is not logged on: the message gets a number and stays in the store. The peer
    /// detects the gap at the next logon and requests it. If the schedule's run of the current numbers is over, they
    /// are reset first. Returns false, without using a number, like `send`, if `may_keep` is false, and if the store
    /// would be too full for the next logon.
    template <class Fill>
    [[nodiscard]] bool keep(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing = {}) {
        if (!may_keep(now)) return false;
        if (state_ == State::disconnected) begin_run(now);
        return write_message<false>(msg_type, now, std::forward<Fill>(fill), routing) == Written::yes;
    }

    /// Enables or disables `keep`: disable it while another process runs the session.
    void allow_keeping(bool allowed) noexcept { may_keep_ = allowed; }

    /// Encodes a message into scratch memory and touches the store's next cache lines, so that code and memory of the
    /// next message are in the caches. Sends nothing, uses no number and changes no state.
    void warm_up(core::Moment now) noexcept;

    /// Starts the Logout handshake if logged on. reason: its Text(58), made printable, truncated to kMaxReasonBytes.
    void logout(std::string_view reason, core::Moment now);
    /// Resets both numbers. While logged on, it first completes the Logout handshake.
    void reset(core::Moment now);

    [[nodiscard]] State state() const noexcept { return state_; }
    /// Reason why the connection is about to end, while the session waits for a Logout or the disconnect.
    [[nodiscard]] std::optional<Disconnect> ending() const noexcept { return ending_; }
    /// Whether a ResendRequest of the peer is being answered.
    [[nodiscard]] bool is_resending() const noexcept { return !resend_.empty(); }
    /// Whether our ResendRequest is not answered yet.
    [[nodiscard]] bool awaits_resend() const noexcept { return requested_to_ != 0; }
    [[nodiscard]] const SessionConfig& config() const noexcept { return config_; }
    [[nodiscard]] const MessageStore& store() const noexcept { return *store_; }
    /// Version of an application message; without one below FIXT 1.1.
    [[nodiscard]] const ApplicationVersions& application_versions() const noexcept { return versions_; }
    [[nodiscard]] const SessionCounters& counters() const noexcept { return counters_; }

private:
    struct Inbound {
        const Message& message;
        std::uint64_t sequence;
        core::Moment now;
        bool was_held{false};  // CompIDs and SendingTime were checked on arrival
    };
    struct LogonFault;
    /// Outcome of sending a message.
    enum class Written : std::uint8_t {
        yes,
        store_full,   // the store is full of unwritten messages
        not_encoded,  // too long, a delimiter in a value, or fill returned false
        no_number,    // the last number is reserved for the Logout
        refused,      // the handler refused the Logon
    };
    struct Range {
        std::uint64_t next{1};
        std::uint64_t last{0};
        std::uint64_t gap{1};   // first number that waits for a gap fill; `next` if there is none
        std::uint64_t lost{0};  // numbers of the gap that are missing in the store or damaged
        LostHistory all{};      // losses of the whole range
        [[nodiscard]] bool empty() const noexcept { return next > last; }
    };

    // Inbound: session_inbound.cpp, and session_logon.cpp until the Logon is complete.
    void on_frame(const Frame& frame, core::Moment now);
    void on_garbled(const Frame& frame, core::Moment now);
    void on_bad_frame(std::string_view bytes, const BadFrame& bad, core::Moment now);
    void on_too_long(std::string_view bytes, std::size_t stated_bytes, core::Moment now);
    void reject_unread(std::string_view msg_type, const RejectedMessage& why, core::Moment now);
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
    void adopt_interval(const Message& logon);
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
    void consume_number(std::uint64_t sequence) noexcept;
    void forget_ahead() noexcept;
    void process_held(core::Moment now);
    void request_missing(core::Moment now);

    // Outbound: session_outbound.cpp.
    void send_logon(core::Moment now, bool reset);
    void send_heartbeat(std::string_view test_req_id, core::Moment now);
    void send_logout(std::string_view text, core::Moment now);
    /// text: replaces the text of the reason.
    void send_reject(const Inbound& in, const Rejection& rejection, std::string_view text = {}, bool names_tag = true);
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
    [[nodiscard]] std::span<char> draft_buffer() noexcept { return {draft_memory_.data(), config_.max_message_bytes}; }
    void complete(AdminDraft& draft);
    [[nodiscard]] Written send_draft(std::optional<std::string_view> message, core::Moment now);
    void hand_over(std::string_view bytes, core::Moment now);
    void disconnect(Disconnect reason);
    void report_logout(std::string_view text);

    [[nodiscard]] static bool is_used_up(std::uint64_t sequence, std::string_view type) noexcept {
        return sequence >= kMaxSequence && (sequence > kMaxSequence || type != "5");
    }
    /// Sends: true passes the message to the handler; false only stores it.
    template <bool Sends = true, class Fill>
    Written write_message(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing) {
        const auto sequence = store_->next_sender();
        if (is_used_up(sequence, msg_type)) [[unlikely]]
            return Written::no_number;
        const auto max_bytes = config_.max_message_bytes;
        const auto claimed = Sends ? store_->claim(max_bytes) : store_->claim_with_spare(max_bytes);
        if (claimed.empty()) return Written::store_full;
        Writer writer{claimed, begin_string(config_.version)};
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
    /// Sends a session message, which the handler may change before it is stored.
    template <class Fill>
    Written write_draft(std::string_view msg_type, core::Moment now, Fill&& fill, const Routing& routing = {}) {
        const auto sequence = store_->next_sender();
        if (is_used_up(sequence, msg_type)) return Written::no_number;
        Writer writer{draft_buffer(), begin_string(config_.version)};
        add_header(writer, msg_type, sequence, now, routing);
        fill(writer);
        return send_draft(writer.finish(), now);
    }
    /// Sends a mandatory message: if it cannot be sent, the session disconnects.
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
    Parser stored_parser_;  // for resends: the request is still in use in parser_
    Validator validator_;
    ApplicationVersions versions_;
    HeldMessages held_;
    std::vector<Field> spill_;
    std::vector<char> scratch_;       // buffer for a resent message
    std::vector<char> draft_memory_;  // buffer for a session message and the values that the handler adds
    std::string header_fields_;       // encoded fields of config_

    State state_{State::disconnected};
    bool closing_{false};         // a disconnect was requested: nothing more is processed or sent
    bool ended_by_fault_{false};  // the newest connection ended by a fault
    bool reset_wanted_{false};    // `reset` was called while logged on
    bool may_keep_{true};
    bool logout_sent_{false};
    bool reset_sent_{false};            // our Logon had ResetSeqNumFlag
    std::optional<Disconnect> ending_;  // set while waiting for a Logout or the disconnect
    bool application_is_on_{false};     // the application was notified of the logon, not yet of the logout
    std::int64_t heartbeat_ns_{0};
    // Monotonic times, like progress_ns_ below.
    std::int64_t connected_ns_{0};
    std::int64_t last_sent_ns_{0};
    std::int64_t last_received_ns_{0};
    std::int64_t logout_ns_{0};
    std::int64_t schedule_due_ns_{0};  // when to check the schedule
    bool test_request_sent_{false};
    std::uint64_t requested_to_{0};  // last number of the pending ResendRequest; 0: none
    std::int64_t progress_ns_{0};    // time of the last processed number or sent ResendRequest
    std::uint64_t highest_seen_{0};  // highest out-of-order number
    std::uint64_t too_long_{0};      // number of the next message, once it was too long
    bool follows_too_long_{false};   // the next bytes may be the rest of a message that was too long
    std::uint64_t early_logon_{0};   // number of a Logon that arrived before the messages preceding it; 0: none
    Range resend_;
    SessionCounters counters_;
};

}  // namespace millpond::fix
