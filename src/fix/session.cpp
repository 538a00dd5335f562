#include <millpond/fix/session.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include <millpond/core/moment.hpp>
#include <millpond/fix/wire_bounds.hpp>

namespace millpond::fix {
namespace {

// In tenths of the heartbeat interval: a silent peer gets a TestRequest after 1.2 intervals and is disconnected after
// 2.4 ("some reasonable transmission time").
constexpr std::int64_t kAskTenths = 12;
constexpr std::int64_t kGoneTenths = 24;
constexpr std::size_t kMinFieldBytes = 3;  // 1= and the delimiter
// Space in scratch_ for the two fields that a resend adds.
constexpr std::size_t kResendExtraBytes = 64;

// Fields of the order that warm_up encodes.
constexpr Tag kOrderQty = 38;
constexpr Tag kPrice = 44;
constexpr Tag kSide = 54;
constexpr Tag kSymbol = 55;
constexpr Tag kTransactTime = 60;

/// Start of the next second: runs of a schedule begin and end at whole seconds.
std::int64_t next_second(core::Moment now) noexcept {
    constexpr std::int64_t kSecond = 1'000'000'000;
    return now.monotonic_ns + kSecond - (now.utc_ns % kSecond + kSecond) % kSecond;
}

bool has_delimiter(std::string_view value) noexcept { return value.find('\x01') != std::string_view::npos; }

void check_fields(const SessionConfig& config) {
    for (const auto& field : config.header_fields) {
        const auto name = "header field " + std::to_string(field.tag);
        if (!AdminDraft::is_header_field(field.tag)) throw std::invalid_argument(name + " cannot be set");
        if (config.version < AdminDraft::since(field.tag)) {
            throw std::invalid_argument(name + " is not part of " + std::string{begin_string(config.version)});
        }
        if (field.value.empty() || has_delimiter(field.value))
            throw std::invalid_argument(name + " has no valid value");
    }
    for (const auto& field : config.logon_fields) {
        const auto name = "Logon field " + std::to_string(field.tag);
        if (!AdminDraft::may_set(field.tag)) throw std::invalid_argument(name + " cannot be set");
        if (field.value.empty() || (!AdminDraft::is_data(field.tag) && has_delimiter(field.value))) {
            throw std::invalid_argument(name + " has no valid value");
        }
    }
    if (config.logon_fields.size() > AdminDraft::kMaxFields / 2) {
        throw std::invalid_argument("a Logon can hold " + std::to_string(AdminDraft::kMaxFields / 2) +
                                    " further fields");
    }
}

bool is_fault(Disconnect reason) noexcept {
    switch (reason) {
        case Disconnect::logged_out:
        case Disconnect::logon_refused:
        case Disconnect::logon_timeout:
        case Disconnect::outside_schedule: return false;
        default: return true;
    }
}

std::string text_of(const std::vector<FieldValue>& fields) {
    std::string text;
    for (const auto& field : fields) text += std::to_string(field.tag) + "=" + field.value + "\x01";
    return text;
}

void check_versions(const SessionConfig& config) {
    if (config.version != Version::fixt11) {
        if (config.further_versions.empty()) return;
        throw std::invalid_argument("only a FIXT.1.1 session has further_versions");
    }
    if (config.default_appl_ver_id.empty()) {
        throw std::invalid_argument("a FIXT.1.1 session needs a default_appl_ver_id");
    }
    const auto usual = application_version_of(config.default_appl_ver_id);
    if (!usual) {
        throw std::invalid_argument("default_appl_ver_id '" + config.default_appl_ver_id + "' is not from 2 to 10");
    }
    auto versions = config.further_versions;
    versions.push_back({*usual});
    std::ranges::sort(versions, {}, &ApplicationDictionary::version);
    const auto twice = std::ranges::adjacent_find(versions, {}, &ApplicationDictionary::version);
    if (twice == versions.end()) return;
    throw std::invalid_argument("application version " + std::string{name(twice->version)} + " is there twice");
}

void check_logon_types(const SessionConfig& config) {
    const auto& types = config.logon_types;
    if (types.empty()) return;
    if (config.version < Version::fix42) throw std::invalid_argument("logon_types came with FIX.4.2");
    if (types.size() > SessionConfig::kMaxLogonTypes) {
        throw std::invalid_argument("a Logon names " + std::to_string(SessionConfig::kMaxLogonTypes) +
                                    " message types at most");
    }
    for (const auto& one : types) {
        const auto name = "logon type '" + one.type + "'";
        if (one.type.empty() || has_delimiter(one.type)) throw std::invalid_argument(name + " is no message type");
        if (one.is_default && !one.version) throw std::invalid_argument(name + " is a default without a version");
        if (!one.version) continue;
        const bool is_carried = config.version == Version::fixt11 &&
                                (application_version_of(config.default_appl_ver_id) == one.version ||
                                 std::ranges::find(config.further_versions, *one.version,
                                                   &ApplicationDictionary::version) != config.further_versions.end());
        if (is_carried) continue;
        throw std::invalid_argument(
            name + " has a version that the session does not carry: " + std::string{fix::name(*one.version)});
    }
}

/// Adds the SubIDs and LocationIDs of the identity to the header fields.
void add_identity_fields(SessionConfig& config) {
    for (const auto& [tag, value] : {std::pair{tag::kSenderSubId, config.sender_sub_id},
                                     {tag::kSenderLocationId, config.sender_location_id},
                                     {tag::kTargetSubId, config.target_sub_id},
                                     {tag::kTargetLocationId, config.target_location_id}}) {
        if (value.empty()) continue;
        if (std::ranges::find(config.header_fields, tag, &FieldValue::tag) != config.header_fields.end()) {
            throw std::invalid_argument("header field " + std::to_string(tag) + " is part of the identity already");
        }
        config.header_fields.push_back({tag, value});
    }
}

SessionConfig checked(SessionConfig config) {
    if (config.sender_comp_id.empty()) throw std::invalid_argument("a session needs a sender_comp_id");
    if (config.target_comp_id.empty()) throw std::invalid_argument("a session needs a target_comp_id");
    if (has_delimiter(config.qualifier)) throw std::invalid_argument("the qualifier has a delimiter");
    add_identity_fields(config);
    check_versions(config);
    check_logon_types(config);
    if (config.heartbeat_seconds < 0 || config.heartbeat_seconds > kMaxHeartbeatSeconds) {
        throw std::invalid_argument("heartbeat_seconds of " + std::to_string(config.heartbeat_seconds) +
                                    " is not from 0 to " + std::to_string(kMaxHeartbeatSeconds));
    }
    check_fields(config);
    return config;
}

Parser::Options parser_options(const SessionConfig& config, const Dictionary& session, const Dictionary* application) {
    Parser::Options options;
    options.data_fields = application != nullptr ? application->data_fields() : session.data_fields();
    for (const auto& further : config.further_versions) {
        if (further.dictionary != nullptr) options.data_fields = further.dictionary->data_fields(options.data_fields);
    }
    return options;
}

ApplicationVersions versions_of(const SessionConfig& config, const Dictionary* application) {
    if (config.version != Version::fixt11) return {};
    return {{application_version_of(config.default_appl_ver_id).value(), application}, config.further_versions};
}

}  // namespace

std::string_view name(Disconnect reason) noexcept {
    switch (reason) {
        case Disconnect::logged_out: return "logged out";
        case Disconnect::logout_timeout: return "logout timeout";
        case Disconnect::logon_timeout: return "logon timeout";
        case Disconnect::logon_refused: return "logon refused";
        case Disconnect::heartbeat_timeout: return "heartbeat timeout";
        case Disconnect::sequence_too_low: return "sequence number too low";
        case Disconnect::send_refused: return "the peer reads nothing";
        case Disconnect::outside_schedule: return "outside the schedule";
        case Disconnect::not_encoded: return "a session message could not be encoded";
        case Disconnect::numbers_used_up: return "outbound sequence numbers used up";
    }
    return "unknown";
}

Session::Session(SessionConfig config, const Dictionary& session, const Dictionary* application, MessageStore& store,
                 SessionHandler& handler, core::Moment now)
    : config_(checked(std::move(config))),
      precision_(config_.time_precision.value_or(config_.version >= Version::fix42 ? TimePrecision::millis
                                                                                   : TimePrecision::seconds)),
      store_(&store),
      handler_(&handler),
      parser_(parser_options(config_, session, application)),
      stored_parser_(parser_options(config_, session, application)),
      validator_(session, application, config_.validation),
      versions_(versions_of(config_, application)),
      held_(config_.held_messages, config_.held_bytes),
      spill_(config_.max_message_bytes / kMinFieldBytes + 1),
      scratch_(config_.max_message_bytes + kResendExtraBytes),
      draft_memory_(2 * config_.max_message_bytes),
      header_fields_(text_of(config_.header_fields)) {
    begin_run(now);
}

/// Whether the run of the schedule that the numbers belong to has ended, even if another followed without a gap.
bool Session::run_is_over(core::Moment now) const noexcept {
    const auto& schedule = config_.schedule;
    return schedule && schedule->is_over(store_->creation_utc_ns(), now.utc_ns);
}

void Session::begin_run(core::Moment now) noexcept {
    if (run_is_over(now)) store_->reset(now.utc_ns);
}

bool Session::may_keep(core::Moment now) const noexcept {
    if (state_ == State::active || closing_ || !may_keep_) return false;
    if (state_ != State::disconnected) return !run_is_over(now);
    return !config_.schedule || config_.schedule->is_open(now.utc_ns);
}

void Session::on_connect(core::Moment now) {
    state_ = State::awaiting_logon;
    closing_ = false;
    ended_by_fault_ = false;
    logout_sent_ = false;
    ending_.reset();
    test_request_sent_ = false;
    connected_ns_ = now.monotonic_ns;
    last_received_ns_ = now.monotonic_ns;
    last_sent_ns_ = now.monotonic_ns;
    schedule_due_ns_ = next_second(now);
    forget_ahead();
    if (config_.refresh_on_logon) store_->refresh();
    if (config_.schedule) {
        if (!config_.schedule->is_open(now.utc_ns)) {
            disconnect(Disconnect::outside_schedule);
            return;
        }
        begin_run(now);
    }
    if (config_.role == Role::acceptor) return;
    if (config_.reset_on_logon) store_->reset(now.utc_ns);
    heartbeat_ns_ = config_.heartbeat_seconds * 1'000'000'000;
    // The Logon reports the reset, so that the peer resets its numbers too.
    const bool resets =
        config_.reset_on_logon || config_.reset_on_logout || config_.reset_on_disconnect || config_.reset_on_error;
    reset_sent_ = resets && store_->next_sender() == 1 && store_->next_target() == 1;
    send_logon(now, reset_sent_);
}

void Session::on_disconnect(core::Moment now) {
    if (ending_ == Disconnect::sequence_too_low) ended_by_fault_ = true;
    state_ = State::disconnected;
    closing_ = false;
    ending_.reset();
    held_.clear();
    end_resend();
    if (reset_wanted_ || config_.reset_on_disconnect || (config_.reset_on_error && ended_by_fault_)) {
        reset_wanted_ = false;
        store_->reset(now.utc_ns);
    }
    report_logout({});
}

std::size_t Session::on_bytes(std::span<const std::byte> bytes, core::Moment now) {
    std::size_t done = 0;
    while (!closing_ && state_ != State::disconnected) {
        const auto frame = next_frame(bytes.subspan(done), config_.max_message_bytes);
        if (!frame) {
            if (frame.error().error == FrameError::incomplete) break;
            const auto skip = frame.error().skip;
            const auto skipped = bytes.subspan(done, skip);
            on_bad_frame({reinterpret_cast<const char*>(skipped.data()), skip}, frame.error(), now);
            done += skip;
            continue;
        }
        follows_too_long_ = false;
        done += frame->bytes.size();
        on_frame(*frame, now);
    }
    return closing_ || state_ == State::disconnected ? bytes.size() : done;
}

std::int64_t Session::next_deadline_ns() const noexcept {
    if (closing_) return core::kNever;
    switch (state_) {
        case State::disconnected: return core::kNever;
        case State::awaiting_logon: return connected_ns_ + config_.logon_timeout_ns;
        case State::awaiting_logout:
        case State::active: break;
    }
    if (!resend_.empty() && !ending_ && !handler_->congested()) return last_sent_ns_;
    if (state_ == State::awaiting_logout) return logout_ns_ + config_.logout_timeout_ns;
    auto deadline = config_.schedule ? schedule_due_ns_ : core::kNever;
    if (requested_to_ != 0) deadline = std::min(deadline, progress_ns_ + config_.resend_timeout_ns);
    if (heartbeat_ns_ <= 0) return deadline;
    if (test_request_sent_) return std::min(deadline, last_received_ns_ + heartbeat_ns_ / 10 * kGoneTenths);
    return std::min({deadline, last_sent_ns_ + heartbeat_ns_, last_received_ns_ + heartbeat_ns_ / 10 * kAskTenths});
}

void Session::on_timer(core::Moment now) {
    if (closing_) return;
    switch (state_) {
        case State::disconnected: return;
        case State::awaiting_logon:
            if (now.monotonic_ns >= connected_ns_ + config_.logon_timeout_ns) {
                handler_->on_logon_refused({.reason = "no Logon in time"});
                disconnect(Disconnect::logon_timeout);
            }
            return;
        case State::awaiting_logout:
            if (now.monotonic_ns >= logout_ns_ + config_.logout_timeout_ns) {
                disconnect(ending_.value_or(Disconnect::logout_timeout));
            }
            continue_resend(now);
            return;
        case State::active: break;
    }
    schedule_due_ns_ = next_second(now);
    if (run_is_over(now) || (config_.schedule && !config_.schedule->is_open(now.utc_ns))) {
        logout("the session has ended by schedule", now);
        return;
    }
    continue_resend(now);
    if (requested_to_ != 0 && now.monotonic_ns - progress_ns_ >= config_.resend_timeout_ns) {
        request_missing(now);
    }
    if (heartbeat_ns_ <= 0) return;
    const auto silent_ns = now.monotonic_ns - last_received_ns_;
    if (test_request_sent_) {
        if (silent_ns >= heartbeat_ns_ / 10 * kGoneTenths) disconnect(Disconnect::heartbeat_timeout);
        return;
    }
    if (silent_ns >= heartbeat_ns_ / 10 * kAskTenths) {
        test_request_sent_ = true;
        write_admin("1", now, [](Writer& writer) { writer.add<tag::kTestReqId>("TEST"); });
        return;
    }
    if (now.monotonic_ns - last_sent_ns_ >= heartbeat_ns_) send_heartbeat({}, now);
}

void Session::warm_up(core::Moment now) noexcept {
    counters_.warm_ups.add();
    store_->warm_up();
    // A typical order with every kind of value, and the code that parses it.
    Writer writer{draft_buffer(), begin_string(config_.version)};
    add_header(writer, "D", store_->next_sender(), now, {});
    writer.add<tag::kClOrdId>("WARM").add<kOrderQty>(100).add<kPrice>(Decimal{12'345, 2}).add<kSide>('1');
    writer.add<kSymbol>("WARM").add_timestamp<kTransactTime>(now.utc_ns, precision_);
    const auto bytes = writer.finish();
    if (!bytes) return;
    const auto frame = next_frame(std::as_bytes(std::span{bytes->data(), bytes->size()}), bytes->size());
    if (!frame) return;
    if (const auto message = stored_parser_.parse(*frame, spill_)) static_cast<void>(validator_.check(*message));
}

void Session::logout(std::string_view reason, core::Moment now) {
    if (state_ == State::active && !closing_) send_logout(reason.empty() ? "logout requested" : reason, now);
}

void Session::reset(core::Moment now) {
    if (state_ == State::disconnected) {
        store_->reset(now.utc_ns);
        return;
    }
    reset_wanted_ = true;
    if (state_ == State::awaiting_logon) {
        disconnect(Disconnect::logged_out);  // our Logon has a number from before the reset
    } else {
        logout("sequence numbers are being reset", now);
    }
}

void Session::report_logout(std::string_view text) {
    if (!application_is_on_) return;
    application_is_on_ = false;
    handler_->on_logout(text);
}

void Session::disconnect(Disconnect reason) {
    if (closing_) return;
    closing_ = true;
    // Before the Logon is complete the peer is unauthenticated.
    const bool is_unauthenticated = state_ == State::awaiting_logon && config_.role == Role::acceptor;
    ended_by_fault_ = is_fault(reason) && !is_unauthenticated;
    handler_->disconnect(reason);
}

}  // namespace millpond::fix
