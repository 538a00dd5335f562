#pragma once

#include <any>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/consumer.hpp"
#include "service/http/page.hpp"
#include "service/log_function.hpp"
#include "service/settings/schema.hpp"
#include "service/settings/settings_of.hpp"

namespace millpond::gateway {

/// Settings of every kind of sink; the settings of each kind derive from them.
struct SinkBasics {
    std::string name;                       ///< Name; empty: the kind's name.
    std::string ring;                       ///< Name of the ring; empty: the first ring.
    core::Poll poll{core::Poll::adaptive};  ///< How the sink waits for the ring.
    std::optional<std::uint32_t> pin;       ///< CPU of its thread; unset: any.
    friend bool operator==(const SinkBasics&, const SinkBasics&) = default;
};

/// An output of a sink, which no other sink may have.
struct SinkOutput {
    std::string name;                ///< Name in messages.
    std::string claim;               ///< Outputs with the same claim cannot be open at the same time; empty: no claim.
    std::filesystem::path file{};    ///< A file that must not be in another sink's folder.
    std::filesystem::path folder{};  ///< A folder whose files are the sink's alone.
    net::SocketAddress to{};         ///< Destination of datagrams.
    std::string interface{};         ///< Interface for datagrams; the system's route when empty.
    std::vector<std::string_view> keys{};  ///< Keys that determine it; if one could not be read, it is unknown.
};

/// Path of the POST request that disconnects a client.
inline constexpr std::string_view kDisconnectPath = "/api/disconnect";

/// Objects of the gateway that a sink uses.
struct SinkHost {
    service::LogFunction log;  ///< Logs, and keeps the last error for the sink's health.
    mode_t file_mode{};        ///< Permissions of files that the sink creates.
    http::Pages pages;         ///< The gateway's own pages: /health, /metrics, /api.
    http::Acts acts{};         ///< Answers POST requests at kDisconnectPath; empty without an admin token.
    /// Returns the running journal of this name. Throws ConfigError if there is none.
    std::function<JournalSource(const std::string& name)> journal;
    std::optional<RingPlace> replaced{};  ///< Position at which the replaced sink stopped; for join.
    /// Makes the feeds of a ring publish their books of orders again; on any thread. May be empty.
    std::function<void(const std::string& ring)> request_books{};
};

/// A sink whose secrets and certificates were read, and which is not running yet.
///
/// Threads: one.
class PreparedSink {
public:
    PreparedSink() = default;
    PreparedSink(const PreparedSink&) = delete;
    PreparedSink& operator=(const PreparedSink&) = delete;
    virtual ~PreparedSink() = default;

    /// Checks as much as possible while another sink holds the same output. Throws what open would throw.
    virtual void check() {}
    /// Opens files, sockets and locks. Throws if one of them is not available, and leaves nothing open.
    virtual void open(const SinkHost& host) = 0;
    /// Joins the ring or the journal, without starting the thread. Call it after open.
    [[nodiscard]] virtual std::unique_ptr<Consumer> join(const SinkHost& host) = 0;
};

class SinkConfig;

/// The rest of the configuration, for completing the settings of a kind.
struct SinkContext {
    std::string user;                      ///< The sink's title in messages: "[[tcp]] 'a'".
    const std::vector<SinkConfig>& sinks;  ///< All sinks; those of earlier kinds are complete.
};

/// A kind of sink: its keys, checks, outputs and opening. One constant object for each kind; the settings are in
/// std::any objects, whose type only the kind knows (SinkKindOf in kind_of.hpp does the casts).
///
/// Threads: any.
class SinkKind {
public:
    SinkKind() = default;
    SinkKind(const SinkKind&) = delete;
    SinkKind& operator=(const SinkKind&) = delete;
    virtual ~SinkKind() = default;

    /// Name of the table in the file, of the flag, and prefix of its metrics: "tcp".
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// Description for --help.
    [[nodiscard]] virtual std::string_view summary() const noexcept = 0;
    [[nodiscard]] virtual std::vector<settings::KeyText> keys() const = 0;

    [[nodiscard]] virtual std::any defaults() const = 0;
    /// Assigns a key. Throws ConfigError for an unknown key or a bad value.
    virtual void assign(std::any& settings, std::string_view key, std::string_view where,
                        const settings::Value& value) const = 0;
    [[nodiscard]] virtual bool equal(const std::any& left, const std::any& right) const = 0;
    [[nodiscard]] virtual SinkBasics& basics(std::any& settings) const = 0;
    /// Fills in derived settings and checks that keys fit together. Throws ConfigError.
    virtual void complete(std::any& settings, const SinkContext& context) const = 0;
    [[nodiscard]] virtual std::vector<SinkOutput> outputs(const std::any& settings) const = 0;
    /// Levels of a side that it needs of the feeds of its ring; 0: none.
    [[nodiscard]] virtual std::uint32_t depth(const std::any& settings) const = 0;
    /// Kind of the sinks that it follows; empty if it reads a ring.
    [[nodiscard]] virtual std::string_view followed_kind() const noexcept { return {}; }
    /// Name of the sink that it follows, with which it opens and closes; empty if there is none.
    [[nodiscard]] virtual std::string follows(const std::any& settings) const = 0;
    /// Returns service::exposure of its listening address.
    [[nodiscard]] virtual std::string exposure(const std::any& settings) const = 0;
    /// Files that prepare() reads: secrets and certificates.
    [[nodiscard]] virtual std::vector<std::string> files_read(const std::any& settings) const = 0;
    /// Reads secrets and certificates. Throws ConfigError.
    [[nodiscard]] virtual std::unique_ptr<PreparedSink> prepare(const std::any& settings) const = 0;
    /// Reads the events that a dead gateway left in the sink's ring, before the ring is taken over.
    virtual void rescue(const std::any& settings, const SinkHost& host) const = 0;
};

/// A configured sink: its kind, and its settings, whose type only the kind knows.
class SinkConfig : public settings::SettingsOf<SinkKind> {
public:
    using SettingsOf::SettingsOf;

    settings::Origin origin;

    [[nodiscard]] const SinkKind& kind() const noexcept { return *kind_; }
    [[nodiscard]] SinkBasics& basics() { return kind_->basics(settings_); }
    [[nodiscard]] const SinkBasics& basics() const { return kind_->basics(const_cast<std::any&>(settings_)); }
    [[nodiscard]] const std::string& name() const { return basics().name; }
    /// Title in messages: "[[tcp]] 'a'".
    [[nodiscard]] std::string title() const;
    /// Prefix of messages: "gateway.toml:12: [[tcp]] 'a'".
    [[nodiscard]] std::string user() const;

    void assign(std::string_view key, std::string_view where, const settings::Value& value) {
        kind_->assign(settings_, key, where, value);
    }
    void complete(const SinkContext& context) { kind_->complete(settings_, context); }
    [[nodiscard]] std::vector<SinkOutput> outputs() const { return kind_->outputs(settings_); }
    [[nodiscard]] std::uint32_t depth() const { return kind_->depth(settings_); }
    [[nodiscard]] std::string follows() const { return kind_->follows(settings_); }
    [[nodiscard]] std::string exposure() const { return kind_->exposure(settings_); }
    [[nodiscard]] std::vector<std::string> files_read() const { return kind_->files_read(settings_); }
    /// Reads secrets and certificates. Throws ConfigError that begins with user().
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare() const;
    void rescue(const SinkHost& host) const { kind_->rescue(settings_, host); }
};

}  // namespace millpond::gateway
