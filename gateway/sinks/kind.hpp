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
#include "service/say.hpp"
#include "service/settings/schema.hpp"
#include "service/settings/settings_of.hpp"

namespace millpond::gateway {

/// Settings of every kind of sink; a kind's settings derive from it.
struct SinkBasics {
    std::string name;                       ///< The kind's when empty.
    std::string ring;                       ///< The first ring when empty.
    core::Poll poll{core::Poll::adaptive};  ///< How the sink waits for the ring.
    std::optional<std::uint32_t> pin;       ///< CPU of its thread; any when unset.
    friend bool operator==(const SinkBasics&, const SinkBasics&) = default;
};

/// A target of a sink. Two sinks never share one.
struct SinkOutput {
    std::string name;   ///< As messages name it.
    std::string claim;  ///< Outputs of the same claim exclude each other while both are open; empty: they do not.
    std::filesystem::path file{};    ///< A file that must not be in another sink's folder.
    std::filesystem::path folder{};  ///< A folder whose files are the sink's alone.
    net::SocketAddress to{};         ///< Where it sends datagrams.
    std::string interface{};         ///< Through which it does; empty: as the system routes.
};

/// What the gateway provides to a sink that opens.
struct SinkHost {
    service::Say say;    ///< Logs, and keeps the last message for the sink's health.
    mode_t file_mode{};  ///< Of files that the sink creates.
    http::Pages pages;   ///< The gateway's own pages: /health, /metrics, /api/health.
    /// The running journal of that name. Throws ConfigError if there is none.
    std::function<JournalSource(const std::string& name)> journal;
    std::optional<RingPlace> replaced{};  ///< Where the sink that this one replaces has stopped; for join.
};

/// A sink between its settings and its run. Its secrets and certificates are read.
///
/// Threads: one.
class PreparedSink {
public:
    PreparedSink() = default;
    PreparedSink(const PreparedSink&) = delete;
    PreparedSink& operator=(const PreparedSink&) = delete;
    virtual ~PreparedSink() = default;

    /// Checks what can be checked while another sink holds the same output. Throws what open would throw.
    virtual void check() {}
    /// Opens files, sockets and locks. Throws if one of them is not available, and leaves nothing open.
    virtual void open(const SinkHost& host) = 0;
    /// Joins the ring or the journal; after open. The thread is not started yet.
    [[nodiscard]] virtual std::unique_ptr<Consumer> join(const SinkHost& host) = 0;
};

class SinkConfig;

/// The rest of the configuration, for completing the settings of a kind.
struct SinkContext {
    std::string user;                      ///< "[[tcp]] 'a'", for messages.
    const std::vector<SinkConfig>& sinks;  ///< All of them; those of earlier kinds are complete.
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

    /// The table in the file, the flag, and the prefix of its metrics: "tcp".
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// What it does, for --help.
    [[nodiscard]] virtual std::string_view summary() const noexcept = 0;
    [[nodiscard]] virtual std::vector<settings::KeyText> keys() const = 0;

    [[nodiscard]] virtual std::any defaults() const = 0;
    /// Throws ConfigError for an unknown key or a bad value.
    virtual void assign(std::any& settings, std::string_view key, std::string_view where,
                        const settings::Value& value) const = 0;
    [[nodiscard]] virtual bool equal(const std::any& left, const std::any& right) const = 0;
    [[nodiscard]] virtual SinkBasics& basics(std::any& settings) const = 0;
    /// Fills in derived settings and checks that keys fit together. Throws ConfigError.
    virtual void complete(std::any& settings, const SinkContext& context) const = 0;
    [[nodiscard]] virtual std::vector<SinkOutput> outputs(const std::any& settings) const = 0;
    /// Name of the sink that it follows: it opens after that one, and closes and opens with it. Empty: none.
    [[nodiscard]] virtual std::string follows(const std::any& settings) const = 0;
    /// Reads secrets and certificates. Throws ConfigError.
    [[nodiscard]] virtual std::unique_ptr<PreparedSink> prepare(const std::any& settings) const = 0;
    /// Reads the events that a dead gateway left in the sink's ring, before the ring is taken over.
    virtual void rescue(const std::any& settings, const SinkHost& host) const = 0;
};

/// One configured sink: its kind, and settings that only the kind knows.
class SinkConfig : public settings::SettingsOf<SinkKind> {
public:
    using SettingsOf::SettingsOf;

    settings::Origin origin;

    [[nodiscard]] const SinkKind& kind() const noexcept { return *kind_; }
    [[nodiscard]] SinkBasics& basics() { return kind_->basics(settings_); }
    [[nodiscard]] const SinkBasics& basics() const { return kind_->basics(const_cast<std::any&>(settings_)); }
    [[nodiscard]] const std::string& name() const { return basics().name; }
    /// "[[tcp]] 'a'".
    [[nodiscard]] std::string title() const;
    /// What messages about it begin with: "gateway.toml:12: [[tcp]] 'a'".
    [[nodiscard]] std::string user() const;

    void assign(std::string_view key, std::string_view where, const settings::Value& value) {
        kind_->assign(settings_, key, where, value);
    }
    void complete(const SinkContext& context) { kind_->complete(settings_, context); }
    [[nodiscard]] std::vector<SinkOutput> outputs() const { return kind_->outputs(settings_); }
    [[nodiscard]] std::string follows() const { return kind_->follows(settings_); }
    /// Reads secrets and certificates. Throws ConfigError that begins with user().
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare() const;
    void rescue(const SinkHost& host) const { kind_->rescue(settings_, host); }
};

}  // namespace millpond::gateway
