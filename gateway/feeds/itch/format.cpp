#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/feed/itch_decoder.hpp>
#include <millpond/net/soupbin_client.hpp>

#include "gateway/feeds/book_keys.hpp"
#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/itch/book_rebuild.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "gateway/feeds/rerequest_keys.hpp"
#include "service/config_error.hpp"
#include "service/out_of_memory.hpp"
#include "service/token.hpp"

namespace millpond::gateway::itch {
namespace {

using K = settings::KeyOf<Settings>;

constexpr std::uint64_t kMaxSequence = std::numeric_limits<std::int64_t>::max();

/// User and password at the server. Throws ConfigError.
net::SoupBinOptions login_options(const Settings& settings, const net::SocketAddress& server) {
    const auto password = service::read_secret(settings.password, "password");
    if (password.size() > net::soupbin::kPasswordBytes) {
        throw service::ConfigError(fmt::format("password file '{}': has {} characters, SoupBinTCP allows {}",
                                               settings.password.file, password.size(), net::soupbin::kPasswordBytes));
    }
    return {.server = server, .user = net::soupbin::User{settings.user}, .password = net::soupbin::Password{password}};
}

constexpr settings::Key<Settings> kKeys[] = {
    depth_key<Settings>(),
    K::boolean<&Settings::orders>("orders", kOrdersHelp),
    K::integer<&Settings::max_orders, 1, kMaxOrders>("max_orders", "N", kMaxOrdersHelp),
    rerequest_key<Settings>(),
    rerequest_ms_key<Settings>(),
    rerequest_start_key<Settings>(),
    K::boolean<&Settings::rebuild>("rebuild", "itch: rebuild incomplete books from the rerequest server."),
    K::endpoint<&Settings::glimpse>("glimpse",
                                    "itch: rebuild incomplete books from snapshots of this GLIMPSE server first."),
    K::text<&Settings::rebuild_from>(
        "rebuild_from", "PATH",
        "itch: rebuild incomplete books from a capture, a folder of captures or a file of messages first."),
    K::short_text<&Settings::user, net::soupbin::kUserBytes>("user", "NAME",
                                                             "itch: user at the servers of connect and glimpse."),
    K::file<[](auto& s) -> auto& { return s.password.file; }>(
        "password_file", "itch: file whose first line is the user's password, of up to 10 characters."),
    K::short_text<&Settings::session, net::soupbin::kSessionBytes>(
        "session", "NAME", "itch: session to log in to first, with connect; the active one if unset."),
    K::integer<&Settings::sequence, 0, kMaxSequence>(
        "sequence", "N", "itch: first message to request from it, with connect; 0 to begin with the newest one."),
    rebuild_buffer_key<Settings>(),
};

feed::ItchDecoder::Options decoder_options(const Settings& settings, std::uint64_t instruments) {
    feed::ItchDecoder::Options options;
    options.order_books = books_for(instruments, settings.max_orders);
    options.depth = settings.depth;
    options.orders = settings.orders;
    return options;
}

class Format final : public FeedFormatOf<Settings, feed::ItchDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "itch"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }

    [[nodiscard]] bool connects() const noexcept override { return true; }

    void check(const Settings& settings) const override {
        if (!settings.user.empty()) static_cast<void>(login_options(settings, {}));
    }

    void complete(Settings& settings, FeedConfig& feed, const std::string& user) const override {
        const bool connects = !feed.connect.empty();
        check_login(settings, connects, user);
        if (!settings.glimpse.empty()) {
            check_server("glimpse", settings.glimpse, user);
            settings.rebuild = true;
            settings.rerequest_start = false;  // the snapshot has the state before the start
        }
        const auto& server = settings.rerequest;
        check_rerequest(settings, !settings.glimpse.empty(), user);
        if (settings.rebuild && settings.glimpse.empty() && settings.rebuild_from.empty() && server.empty())
            throw service::ConfigError(user + ": rebuild: needs glimpse, rerequest or rebuild_from");
        settings.rebuild = settings.rebuild || !settings.rebuild_from.empty();
        if (connects && !server.empty())
            throw service::ConfigError(user + ": rerequest: not with connect; the server sends what was missed");
        if (!settings.rebuild && settings.rebuild_buffer != Settings{}.rebuild_buffer)
            throw service::ConfigError(user + ": rebuild_buffer: needs rebuild, glimpse or rebuild_from");
    }

    [[nodiscard]] market::ChannelDepth depth(const Settings& settings) const override {
        return {.depth = settings.depth, .orders = settings.orders};
    }

    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings& settings,
                                             const FeedHost& host) const override {
        auto options = decoder_options(settings, host.instruments.capacity());
        set_venue(options, feed);
        auto opened = service::need_memory(fmt::format("books for max_orders = {}", settings.max_orders), [&] {
            return std::make_unique<FeedOf<feed::ItchDecoder, BookRebuild>>(
                feed,
                FeedOptions{
                    .rerequest = static_cast<const RerequestSettings&>(settings),
                    .table = FeedTable{.name = "orders", .capacity = settings.max_orders, .bound = "max_orders"},
                    .server = server_of(feed, settings)},
                host.instruments, options, host.memory);
        });
        if (settings.rebuild) opened->rebuild_with(rebuild_of(feed, settings, host, options, *opened));
        return opened;
    }

private:
    static void check_login(const Settings& settings, bool connects, const std::string& user) {
        const auto need = [&](bool is_set, std::string_view key, std::string_view needed) {
            if (is_set) throw service::ConfigError(fmt::format("{}: {}: needs {}", user, key, needed));
        };
        const bool logs_in = connects || !settings.glimpse.empty();
        const auto* const server = connects ? "connect" : "glimpse";
        need(logs_in && settings.user.empty(), server, "user");
        need(logs_in && settings.password.empty(), server, "password_file");
        need(!logs_in && !settings.user.empty(), "user", "connect or glimpse");
        need(!logs_in && !settings.password.empty(), "password_file", "connect or glimpse");
        need(!connects && !settings.session.empty(), "session", "connect");
        need(!connects && settings.sequence != Settings{}.sequence, "sequence", "connect");
        const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
        for (const auto& [key, text] : {std::pair{"user", &settings.user}, {"session", &settings.session}}) {
            if (!std::ranges::all_of(*text, is_visible)) {
                throw service::ConfigError(
                    fmt::format("{}: {} '{}' may hold visible ASCII characters only", user, key, *text));
            }
        }
    }
    static std::optional<net::SoupBinClient::Options> server_of(const FeedConfig& feed, const Settings& settings) {
        if (feed.connect.empty()) return std::nullopt;
        auto connection = login_options(settings, feed.connect);
        connection.receive_buffer = feed.receive_buffer;
        return net::SoupBinClient::Options{.connection = connection,
                                           .session = net::soupbin::Session{settings.session},
                                           .sequence = settings.sequence};
    }
    static std::unique_ptr<BookRebuild> rebuild_of(const FeedConfig& feed, const Settings& settings,
                                                   const FeedHost& host, const feed::ItchDecoder::Options& decoder,
                                                   const Feed& opened) {
        constexpr std::int64_t kTimeoutNs = 600'000'000'000;
        BookRebuild::Options options{
            .feed = feed.name,
            .snapshots = {.login = settings.glimpse.empty() ? net::SoupBinOptions{}
                                                            : login_options(settings, settings.glimpse)},
            .history = {.path = settings.rebuild_from, .ports = {}},
            .server = settings.rerequest,
            .books = {.decoder = decoder, .instruments = host.instruments.capacity()},
            .buffer_bytes = settings.rebuild_buffer,
            .timeout_ns = kTimeoutNs,
            .rerequests = rerequester_options(settings)};
        opened.for_each_line([&](std::string_view, const Line& receiver) {
            options.history.ports.push_back(receiver.report().local.port());
        });
        return service::need_memory(fmt::format("rebuild_buffer = {} and books for max_orders = {}",
                                                settings.rebuild_buffer, settings.max_orders),
                                    [&] { return std::make_unique<BookRebuild>(options, host.log, host.memory); });
    }
};

}  // namespace

const FeedFormat& Settings::format() noexcept {
    static const Format format;
    return format;
}

}  // namespace millpond::gateway::itch
