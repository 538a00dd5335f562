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
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/fix/session_config.hpp>

namespace millpond::engine {

/// Where a session keeps its sent messages.
struct StoreOptions {
    std::size_t bytes{8U << 20U};
    std::filesystem::path file{};      ///< Empty: the messages are kept in memory.
    std::size_t segments{4};           ///< Of the file, as fix::FileStore has them; 0: it grows up to `bytes`.
    std::chrono::nanoseconds keep{0};  ///< Age at which parts of the file are removed; 0: when `bytes` are full.
    std::size_t resident_bytes{std::numeric_limits<std::size_t>::max()};  ///< As fix::FileStore has them.
    fix::Durability durability{fix::Durability::process};
    std::chrono::nanoseconds sync_interval{std::chrono::seconds{1}};
    std::uint32_t file_mode{0640};  ///< Permissions of the files.
    std::uint64_t next_sender{1};   ///< Number that a store in memory starts with.
    std::uint64_t next_target{1};   ///< Likewise.
};

/// Resources that a peer may use.
struct SessionLimits {
    std::size_t pending_bytes{1U << 20U};  ///< Unsent output; a peer with more is a slow consumer.
    std::chrono::nanoseconds stalled{std::chrono::seconds{30}};  ///< A peer that reads nothing for so long is one.
    std::uint32_t messages_per_second{0};                        ///< From the peer; 0: any number.
    std::uint32_t burst{1'000};                                  ///< Maximum burst of messages.
    bool cut_off_when_exceeded{false};  ///< False: the peer is read more slowly, so that TCP slows it down.
};

/// A session that an acceptor accepts or an initiator connects.
struct SessionOptions {
    fix::SessionConfig config;
    const fix::Dictionary* dictionary{nullptr};   ///< Header, trailer and session messages; outlives the session.
    const fix::Dictionary* application{nullptr};  ///< The other messages, as fix::Validator takes it; may be null.
    StoreOptions store{};
    SessionLimits limits{};
    AllowList allowed{};  ///< Addresses that may log on, of those that the acceptor lets connect.
    /// Decides about each Logon at an acceptor. Null: all are accepted.
    std::shared_ptr<LogonGuard> guard{};
    /// Signs the Logons of an initiator after the application has seen them; for this session only. Null: no signature.
    std::shared_ptr<LogonSigner> signer{};
    std::optional<StandbyOptions> standby{};  ///< Where a copy of its store is kept; for one session only.
    SentObserver* sent{nullptr};              ///< Gets what the session sends; outlives it. May be null.
    /// How often an idle session's code and memory are loaded into the caches (fix::Session::warm_up); 0: never.
    /// The I/O thread does this at most every kLeastWarmUp, however many sessions it has. About every millisecond it
    /// also sends a message to itself over loopback, which warms up the kernel's part.
    std::chrono::nanoseconds warm_up{0};
    bool enabled{true};  ///< False: logged out until request_logon, as after SessionHandle::request_logout.
};

}  // namespace millpond::engine
