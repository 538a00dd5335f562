#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/engine/refusal.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/fix/admin_draft.hpp>
#include <millpond/fix/session.hpp>

namespace millpond::engine {

inline constexpr std::string_view kNotOfSession = "not an address of this session";

/// The checks of a session's Logons, and the fields that it adds to its own.
///
/// Threads: the I/O thread's; allowed and guard on any.
class LogonPolicy {
public:
    explicit LogonPolicy(const SessionOptions& options);

    [[nodiscard]] const AllowList& allowed() const noexcept { return allowed_; }
    /// Returns null if Logons need no permission.
    [[nodiscard]] const std::shared_ptr<LogonGuard>& guard() const noexcept { return guard_; }

    void begin_connection() noexcept { was_refused_ = false; }
    void end_connection() noexcept { confirms_new_password_ = false; }
    /// Whether this is the first refusal of the connection; only that one is reported.
    [[nodiscard]] bool note_refusal() noexcept { return !std::exchange(was_refused_, true); }

    /// Reason to refuse the Logon; nullopt if the engine accepts it.
    [[nodiscard]] std::optional<Refusal> check(const fix::Message& logon, const fix::Session& session,
                                               const net::SocketAddress& peer);

    /// The guard has changed the user's password: the next Logon that is sent confirms it.
    void confirm_new_password() noexcept { confirms_new_password_ = has_session_status_; }
    void add_status(fix::AdminDraft& draft);
    void sign(fix::AdminDraft& draft, std::int64_t utc_ns);

private:
    AllowList allowed_;
    std::shared_ptr<LogonGuard> guard_;
    std::shared_ptr<LogonSigner> signer_;
    bool is_acceptor_;
    bool has_session_status_;  // whether the dictionary's Logon has SessionStatus
    bool confirms_new_password_{false};
    bool was_refused_{false};
    std::string username_;  // Username of the connection's first Logon, if there is a guard
};

}  // namespace millpond::engine
