#include "src/engine/session/logon_policy.hpp"

namespace millpond::engine {

LogonPolicy::LogonPolicy(const SessionOptions& options)
    : allowed_(options.allowed),
      guard_(options.guard),
      signer_(options.signer),
      is_acceptor_(options.config.role == fix::Role::acceptor) {
    const auto* const logon = options.dictionary->message("A");
    has_session_status_ = logon != nullptr && logon->fields.find(fix::tag::kSessionStatus) != nullptr;
}

std::optional<Refusal> LogonPolicy::check(const fix::Message& logon, const fix::Session& session,
                                          const net::SocketAddress& peer) {
    if (is_acceptor_ && !allowed_.contains(peer)) {
        return Refusal{.reason = RefusalReason::not_allowed, .detail = kNotOfSession};
    }
    if (guard_ == nullptr) return {};
    // The guard has checked the first Logon of the connection; a later one must not need more rights.
    const auto user = logon.text(fix::tag::kUsername).value_or("");
    if (session.state() == fix::Session::State::awaiting_logon) {
        username_ = user;
        return {};
    }
    if (logon.text(fix::tag::kNewPassword)) {
        return Refusal{.reason = RefusalReason::not_admitted,
                       .tag = fix::tag::kNewPassword,
                       .detail = "NewPassword in a Logon that is not the first"};
    }
    if (user == username_) return {};
    return Refusal{
        .reason = RefusalReason::not_admitted, .tag = fix::tag::kUsername, .detail = "not the user of the first Logon"};
}

void LogonPolicy::add_status(fix::AdminDraft& draft) {
    if (draft.is_logon() && std::exchange(confirms_new_password_, false)) {
        static_cast<void>(draft.set(fix::tag::kSessionStatus, "1"));
    }
}

void LogonPolicy::sign(fix::AdminDraft& draft, std::int64_t utc_ns) {
    if (signer_ != nullptr && draft.is_logon() && !is_acceptor_) signer_->sign(draft, utc_ns);
}

}  // namespace millpond::engine
