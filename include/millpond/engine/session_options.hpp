#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <millpond/engine/allow_list.hpp>
#include <millpond/engine/logon_guard.hpp>
#include <millpond/engine/logon_signer.hpp>
#include <millpond/engine/sent_observer.hpp>
#include <millpond/engine/standby.hpp>
#include <millpond/engine/wire_tap.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/fix/session_config.hpp>

namespace millpond::engine {

/// Store of the messages that a session has sent.
struct StoreOptions {
    std::size_t bytes{8U << 20U};
    std::filesystem::path file{};      ///< Path of the store; empty: messages are kept in memory.
    std::size_t segments{4};           ///< Segments of the file, see fix::FileStore; 0: it grows up to `bytes`.
    std::chrono::nanoseconds keep{0};  ///< Age at which parts of the file are removed; 0: only when `bytes` are full.
    std::size_t resident_bytes{std::numeric_limits<std::size_t>::max()};  ///< See fix::FileStore.
    fix::Durability durability{fix::Durability::process};
    std::chrono::nanoseconds sync_interval{std::chrono::seconds{1}};
    std::uint32_t file_mode{0640};  ///< Permissions of the files.
    std::uint64_t next_sender{1};   ///< Number that a store in memory starts with.
    std::uint64_t next_target{1};   ///< Number expected of the peer by a store in memory.
    friend bool operator==(const StoreOptions&, const StoreOptions&) = default;
};

/// Resources that a peer may use.
struct SessionLimits {
    std::size_t pending_bytes{1U << 20U};  ///< Maximum unsent output; a peer with more is a slow consumer.
    std::chrono::nanoseconds stalled{
        std::chrono::seconds{30}};         ///< A peer that reads nothing for this time is a slow consumer too.
    std::uint32_t messages_per_second{0};  ///< Maximum rate of the peer; 0: unlimited.
    std::uint32_t burst{1'000};            ///< Maximum burst of messages.
    bool cut_off_when_exceeded{
        false};  ///< True: disconnects the peer; false: reads more slowly, so that TCP slows the peer down.
    friend bool operator==(const SessionLimits&, const SessionLimits&) = default;
};

/// Options of a session that an acceptor accepts or an initiator connects.
struct SessionOptions {
    fix::SessionConfig config{};
    const fix::Dictionary* dictionary{
        nullptr};  ///< Dictionary of header, trailer and session messages; outlives the session.
    const fix::Dictionary* application{
        nullptr};  ///< Dictionary of the other messages, see fix::Validator; may be null.
    StoreOptions store{};
    SessionLimits limits{};
    AllowList allowed{};  ///< Addresses that may log on, in addition to the check of the acceptor's list.
    /// Checks each Logon at an acceptor. Null: no check.
    std::shared_ptr<LogonGuard> guard{};
    /// Signs the Logons of an initiator after the application has seen them. Must not be shared by sessions. Null: no
    /// signature.
    std::shared_ptr<LogonSigner> signer{};
    std::optional<StandbyOptions> standby{};  ///< Machine with a copy of the session's store; not for templates.
    SentObserver* sent{nullptr};  ///< Receives the messages that the session sends; must outlive it. May be null.
    WireTap* tap{nullptr};        ///< See SessionHandle::set_tap; may be null.
    /// Interval at which an idle session's code and memory are loaded into the caches (fix::Session::warm_up); 0:
    /// never. The I/O thread does this at most every 50 us, however many sessions it has. About every millisecond it
    /// also sends a message to itself over loopback, which warms up the kernel's part.
    std::chrono::nanoseconds warm_up{0};
    bool enabled{true};  ///< False: logged out until request_logon, like after SessionHandle::request_logout.
};

}  // namespace millpond::engine
