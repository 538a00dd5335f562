#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/sequencing.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/net/socket_address.hpp>

#include "service/log_function.hpp"
#include "service/settings/schema.hpp"
#include "service/settings/settings_of.hpp"

namespace millpond::gateway {

class Feed;
struct FeedConfig;

/// Objects of the gateway that a feed uses.
struct FeedHost {
    feed::InstrumentTable& instruments;  ///< Instruments of the ring that the feed publishes to.
    service::LogFunction log;
    std::pmr::memory_resource* memory{
        std::pmr::get_default_resource()};  ///< Memory for large tables; outlives the feed.
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
    /// Whether datagrams have sequence numbers, so that two lines can be arbitrated.
    [[nodiscard]] virtual bool sequenced() const noexcept = 0;
    /// Whether feeds can receive from a SoupBinTCP server (FeedConfig::connect).
    [[nodiscard]] virtual bool connects() const noexcept { return false; }
    /// The venue of its instruments if a feed has none; empty if the format carries venues, or none.
    [[nodiscard]] virtual std::string default_venue() const { return {}; }
    /// Whether its datagrams carry the venue of each instrument.
    [[nodiscard]] virtual bool carries_venues() const noexcept { return false; }
    /// The format's own keys of [[feed]].
    [[nodiscard]] virtual std::vector<settings::KeyText> keys() const = 0;

    [[nodiscard]] virtual std::any defaults() const = 0;
    /// Assigns a key; false if the format has no such key. Throws ConfigError for a bad value.
    [[nodiscard]] virtual bool assign(std::any& settings, std::string_view key, const settings::Value& value) const = 0;
    [[nodiscard]] virtual bool equal(const std::any& left, const std::any& right) const = 0;
    /// Fills in derived settings and checks that keys fit together; `user` names the feed in messages. Throws
    /// ConfigError.
    virtual void complete(std::any& settings, FeedConfig& feed, const std::string& user) const = 0;
    /// Reads the files that open reads, to check them. Throws exceptions derived from std::exception.
    virtual void check(const std::any& settings) const = 0;
    /// Opens the feed's sockets. Throws exceptions derived from std::exception.
    [[nodiscard]] virtual std::unique_ptr<Feed> open(const FeedConfig& feed, const std::any& settings,
                                                     const FeedHost& host) const = 0;

    /// A server whose requests do not name the format, so that it serves feeds of one format only; empty: none.
    [[nodiscard]] virtual net::SocketAddress snapshot_server(const std::any& settings) const = 0;
    /// The parts of its books that a feed with these settings sends.
    [[nodiscard]] virtual market::ChannelDepth depth(const std::any& settings) const = 0;

    /// Session and numbers of a datagram's messages.
    struct Numbers {
        feed::SessionName session;
        std::uint64_t first{0};
        std::uint64_t count{0};
    };
    /// Reads a datagram's numbers; nullopt if it has none, as in every datagram of a format that is not sequenced.
    [[nodiscard]] virtual std::optional<Numbers> numbers(std::span<const std::byte> datagram) const = 0;

    using Probe = std::function<feed::DecodeResult(std::span<const std::byte> datagram)>;
    /// Returns a decoder that discards its events, for diagnosis.
    [[nodiscard]] virtual Probe probe(feed::InstrumentTable& instruments) const = 0;
};

/// A feed's format and its settings, whose type only the format knows.
class FormatSettings : public settings::SettingsOf<FeedFormat> {
public:
    using SettingsOf::SettingsOf;

    [[nodiscard]] const FeedFormat& kind() const noexcept { return *kind_; }
    [[nodiscard]] std::string_view name() const noexcept { return kind_->name(); }
    [[nodiscard]] bool assign(std::string_view key, const settings::Value& value) {
        return kind_->assign(settings_, key, value);
    }
    void complete(FeedConfig& feed, const std::string& user) { kind_->complete(settings_, feed, user); }
    void check() const { kind_->check(settings_); }
    [[nodiscard]] market::ChannelDepth depth() const { return kind_->depth(settings_); }
    [[nodiscard]] net::SocketAddress snapshot_server() const { return kind_->snapshot_server(settings_); }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const FeedHost& host) const;
};

}  // namespace millpond::gateway
