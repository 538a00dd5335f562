#pragma once

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/instrument_table.hpp>

#include "service/say.hpp"
#include "service/settings/schema.hpp"
#include "service/settings/settings_of.hpp"

namespace millpond::gateway {

class Feed;
struct FeedConfig;

/// What the gateway provides to a feed that opens.
struct FeedHost {
    feed::InstrumentTable& instruments;  ///< Of the ring that the feed publishes to.
    service::Say say;
    std::pmr::memory_resource* memory{std::pmr::get_default_resource()};  ///< For large tables; outlives the feed.
};

/// A feed format: its keys, checks, decoder and opening. One constant object for each format; the settings are in
/// std::any objects, whose type only the format knows (FeedFormatOf in format_of.hpp does the casts).
///
/// Threads: any.
class FeedFormat {
public:
    FeedFormat() = default;
    FeedFormat(const FeedFormat&) = delete;
    FeedFormat& operator=(const FeedFormat&) = delete;
    virtual ~FeedFormat() = default;

    /// The value of the key `format`: "itch".
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// Datagrams have sequence numbers, so that two lines can be arbitrated.
    [[nodiscard]] virtual bool sequenced() const noexcept = 0;
    /// The format's own keys of [[feed]].
    [[nodiscard]] virtual std::vector<settings::KeyText> keys() const = 0;

    [[nodiscard]] virtual std::any defaults() const = 0;
    /// False when it has no such key. Throws ConfigError for a bad value.
    [[nodiscard]] virtual bool assign(std::any& settings, std::string_view key, const settings::Value& value) const = 0;
    [[nodiscard]] virtual bool equal(const std::any& left, const std::any& right) const = 0;
    /// Fills in derived settings and checks that keys fit together; `user` names the feed in messages. Throws
    /// ConfigError.
    virtual void complete(std::any& settings, FeedConfig& feed, const std::string& user) const = 0;
    /// For a feed of another format. Throws ConfigError if it has keys of this format, which would have no effect.
    virtual void check_unused(const std::any& settings, const std::string& user) const = 0;
    /// Opens the feed's sockets. Throws exceptions derived from std::exception.
    [[nodiscard]] virtual std::unique_ptr<Feed> open(const FeedConfig& feed, const std::any& settings,
                                                     const FeedHost& host) const = 0;

    using Probe = std::function<feed::DecodeResult(std::span<const std::byte> datagram)>;
    /// A decoder whose events are discarded, for diagnosis.
    [[nodiscard]] virtual Probe probe(feed::InstrumentTable& instruments) const = 0;
};

/// A format, and a feed's settings that only the format knows.
class FormatSettings : public settings::SettingsOf<FeedFormat> {
public:
    using SettingsOf::SettingsOf;

    [[nodiscard]] const FeedFormat& format() const noexcept { return *kind_; }
    [[nodiscard]] bool assign(std::string_view key, const settings::Value& value) {
        return kind_->assign(settings_, key, value);
    }
    void complete(FeedConfig& feed, const std::string& user) { kind_->complete(settings_, feed, user); }
    void check_unused(const std::string& user) const { kind_->check_unused(settings_, user); }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const FeedHost& host) const;
};

}  // namespace millpond::gateway
