#include "gateway/sinks/web/web_sink.hpp"

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/json_string.hpp>
#include <millpond/feed/decimal.hpp>
#include <millpond/feed/json_text.hpp>

#include "gateway/json_lines/line_runs.hpp"
#include "gateway/sinks/web/asset.hpp"
#include "gateway/sinks/web/client.hpp"
#include "service/http/listener.hpp"

namespace millpond::gateway::web {
namespace {

/// Interval for work without an event or socket (a client's timeout, its next message).
constexpr std::int64_t kStepEveryNs = 5'000'000;
/// Maximum number of connections that are not WebSockets, each with one page of at most kMaxQuotes quotes or names.
constexpr std::size_t kMaxConnections = 64;
constexpr std::size_t kMaxQuotes = 2'000;
/// Maximum number of network handlers in a step, so that clients that connect in a loop do not delay lines.
constexpr int kMaxHandlers = 256;

bool is_socket(std::string_view path) { return path == "/ws"; }

}  // namespace

struct WebSink::Network {
    explicit Network(WebSink& sink)
        : runs(sink.lines(), sink.snapshot()),
          shared{sink.settings_, sink.counters_, sink.log_, sink.called_, runs},
          listener(
              context,
              {.name = fmt::format("web sink '{}'", sink.settings_.name),
               .listen = sink.settings_.listen,
               .token = sink.access_.token,
               .tls = sink.access_.tls,
               .max_connections = kMaxConnections,
               .is_open = [](std::string_view path) { return find_asset(path) != nullptr || path == kDisconnectPath; },
               .acts = sink.acts_,
               .on_refused = [&sink](std::string_view peer,
                                     std::string_view reason) { sink.log_refused(peer, reason); }},
              [&sink](const http::Request& request) { return sink.page(request); },
              [this, &sink](http::Stream& stream, http::Listener::Head& head) { return accept(sink, stream, head); }) {}

    bool accept(WebSink& sink, http::Stream& stream, const http::Listener::Head& head) {
        const auto target = head.target();
        const std::string_view path{target.data(), std::min(target.find('?'), target.size())};
        if (!is_socket(path)) return false;
        if (clients.size() >= sink.settings_.max_clients) {
            sink.log_refused(stream.peer(),
                             fmt::format("{} clients are connected already", sink.settings_.max_clients));
            return false;
        }
        clients.push_back(std::make_shared<Client>(shared, std::move(stream), sink.source()));
        auto& client = *clients.back();
        sink.join(client.subscriber(), client.peer());
        sink.counters_.accepted.add();
        sink.log_(service::Severity::info, sink.settings_.name + ".connect",
                  fmt::format("web sink '{}': client {} connected", sink.settings_.name, client.peer()));
        client.accept(head);
        return true;
    }

    boost::asio::io_context context{1};
    json_lines::LineRuns runs;
    ClientContext shared;
    http::Listener listener;
    std::vector<std::shared_ptr<Client>> clients;
};

WebSink::WebSink(const Settings& settings, ClientAccess access, http::Pages pages, service::LogFunction log,
                 http::Acts acts)
    : JsonLinesSink(settings, "web", log),
      settings_(settings),
      access_(std::move(access)),
      pages_(std::move(pages)),
      acts_(std::move(acts)),
      log_(std::move(log)),
      books_(source().books),
      trades_(core::utc_nanos()),
      network_(std::make_unique<Network>(*this)) {}

WebSink::~WebSink() = default;

net::SocketAddress WebSink::address() const { return network_->listener.address(); }

void WebSink::log_refused(std::string_view peer, std::string_view reason) {
    counters_.refused.add();
    log_(service::Severity::warning, settings_.name + ".refused",
         fmt::format("web sink '{}': refused {}: {}", settings_.name, peer, reason));
}

void WebSink::name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) {
    JsonLinesSink::name(id, venue, symbol, decimals);
    venues_.push_back(venue);
}

Admission WebSink::on(const feed::Trade& trade, std::uint64_t number) {
    trades_.add(trade);
    return JsonLinesSink::on(trade, number);
}

Admission WebSink::on(const feed::TradeBreak& broken, std::uint64_t number) {
    trades_.add(broken);
    return JsonLinesSink::on(broken, number);
}

Admission WebSink::on(const feed::Gap& gap, std::uint64_t number) {
    trades_.add(gap);
    return JsonLinesSink::on(gap, number);
}

Admission WebSink::on(const feed::Clear& clear, std::uint64_t number) {
    trades_.add(clear);
    return JsonLinesSink::on(clear, number);
}

void WebSink::missed(std::uint64_t first, std::uint64_t last) {
    trades_.note_missed();
    JsonLinesSink::missed(first, last);
}

bool WebSink::poll_network() {
    int handled = 0;
    while (handled < kMaxHandlers && network_->context.poll_one() != 0) ++handled;
    return handled != 0;
}

void WebSink::step(std::int64_t monotonic_ns) {
    if (poll_replays()) called_ = true;
    if (!called_ && served_ == lines().end() && monotonic_ns - served_ns_ < kStepEveryNs) return;
    called_ = false;
    served_ns_ = monotonic_ns;
    served_ = lines().end();
    poll_network();
    serve_all(monotonic_ns);
}

void WebSink::serve_all(std::int64_t now_ns) {
    const auto over = [&](const std::shared_ptr<Client>& client) {
        if (client->serve(now_ns)) return false;
        if (!client->ending()) counters_.left.add();
        counters_.departed.add();
        client->close();
        leave(client->subscriber());
        const auto last = client->subscriber().account();
        log_(service::Severity::info, settings_.name + ".disconnect",
             fmt::format(
                 "web sink '{}': client {} disconnected: published {} = delivered {} + filtered {} + conflated {} + "
                 "missed {} + queued {}",
                 settings_.name, client->peer(), last.published, last.delivered, last.filtered, last.conflated,
                 last.missed, last.queued));
        return true;
    };
    std::erase_if(network_->clients, over);
    find_slowest();
    for (const auto* subscriber : update_clients(now_ns)) {
        const auto client =
            std::ranges::find(network_->clients, subscriber, [](const auto& one) { return &one->subscriber(); });
        (*client)->end(kDisconnected);
    }
    counters_.clients.set(network_->clients.size());
}

void WebSink::wait(std::chrono::nanoseconds max_wait) {
    if (poll_network()) {
        called_ = true;
    } else if (max_wait.count() > 0) {
        std::this_thread::sleep_for(max_wait);
        if (poll_network()) called_ = true;
    }
}

void WebSink::finish() {
    constexpr std::int64_t kPatienceNs = 500'000'000;
    const auto serve_while = [&](auto condition) {
        const auto begin = core::monotonic_nanos();
        for (auto now = begin; now - begin < kPatienceNs && condition();) {
            wait(std::chrono::milliseconds{1});
            now = core::monotonic_nanos();
            serve_all(now);
        }
    };
    network_->listener.close();
    auto& clients = network_->clients;
    serve_all(core::monotonic_nanos());
    serve_while([&] {
        return std::any_of(clients.begin(), clients.end(), [](const auto& client) { return client->has_more(); });
    });
    for (const auto& client : clients) client->end(close_reason());
    serve_while([&] { return !clients.empty(); });
}

http::Page WebSink::page(const http::Request& request) const {
    if (const auto* asset = find_asset(request.path)) return http::page_of(*asset, request);
    if (request.path == "/api/quotes") return quotes(request);
    if (request.path == "/api/symbols") return symbols(request);
    if (request.path == "/api/instruments") return instruments(request);
    return pages_ ? pages_(request) : http::Page{};
}

bool WebSink::is_named(std::string_view symbol) const {
    for (std::size_t id = 0; id < snapshot().size(); ++id) {
        if (snapshot().symbol(static_cast<feed::InstrumentId>(id)) == symbol) return true;
    }
    return false;
}

std::optional<std::string> WebSink::symbol_of(const http::Request& request) const {
    auto symbol = request.parameter("symbol");
    if (symbol && symbol->empty()) throw http::BadRequest("'symbol' must be the name of an instrument");
    // Forms and URLSearchParams encode a space as '+', which symbols may contain too.
    if (symbol && !is_named(*symbol)) std::ranges::replace(*symbol, '+', ' ');
    return symbol;
}

http::Page WebSink::quotes(const http::Request& request) const {
    const auto symbol = symbol_of(request);
    const auto first = request.number("first", 0);
    const auto limit = request.number("limit", kMaxQuotes / 2, 1, kMaxQuotes);
    std::string body{"{\"quotes\":["};
    std::size_t count = 0;
    std::size_t id = first;
    for (; id < snapshot().size() && count < limit; ++id) {
        const auto instrument = static_cast<feed::InstrumentId>(id);
        if (!snapshot().has_quote(instrument)) continue;
        if (symbol && snapshot().symbol(instrument) != *symbol) continue;
        if (count++ != 0) body += ',';
        snapshot().write(instrument, body);
        body.pop_back();  // the newline
    }
    body += fmt::format("],\"instruments\":{},\"next\":{}}}\n", snapshot().size(),
                        id < snapshot().size() ? fmt::format("{}", id) : "null");
    return {.type = "application/json", .body = std::move(body)};
}

http::Page WebSink::symbols(const http::Request& request) const {
    const auto first = std::min(request.number("first", 0), snapshot().size());
    const auto end = std::min(first + kMaxQuotes, snapshot().size());
    std::string symbols;
    std::string venues;
    std::string channels;
    for (auto id = first; id < end; ++id) {
        const auto* const separator = id == first ? "" : ",";
        const auto instrument = static_cast<feed::InstrumentId>(id);
        const auto of = channel(instrument);
        symbols.append(separator).append(snapshot().json_symbol(instrument).view());
        venues.append(separator).append(core::json_string(venues_[id].view()));
        channels.append(separator).append(of ? fmt::format("{}", *of) : "null");
    }
    return {.type = "application/json",
            .body = fmt::format("{{\"symbols\":[{}],\"venues\":[{}],\"channels\":[{}],\"next\":{}}}\n", symbols, venues,
                                channels, end)};
}

std::optional<std::uint16_t> WebSink::channel(feed::InstrumentId id) const {
    const auto of_book = books_.channel(id);
    return of_book ? of_book : snapshot().channel(id);
}

http::Page WebSink::instruments(const http::Request& request) const {
    const auto symbol = symbol_of(request);
    if (!symbol) throw http::BadRequest("'symbol' must be the name of an instrument");
    std::string body{"{\"instruments\":["};
    bool first = true;
    for (std::size_t id = 0; id < snapshot().size(); ++id) {
        const auto instrument = static_cast<feed::InstrumentId>(id);
        if (snapshot().symbol(instrument) != *symbol) continue;
        if (!std::exchange(first, false)) body += ',';
        append_instrument(body, instrument);
    }
    return {.type = "application/json", .body = body + "]}\n"};
}

void WebSink::append_instrument(std::string& body, feed::InstrumentId id) const {
    const auto& json = snapshot().json_symbol(id);
    const auto of = channel(id);
    const auto sent = of ? books_.channel_depth(*of).depth : books_.common_depth().depth;
    const auto levels = settings_.entitlement == json_lines::Entitlement::quotes ? 0 : sent;
    body += fmt::format(R"({{"symbol":{},"venue":{},"channel":{},"depth":{},"trades":)", json.view(),
                        core::json_string(venues_[id].view()), of ? fmt::format("{}", *of) : "null",
                        levels == feed::kFullDepth ? "\"full\"" : fmt::format("{}", levels));
    const auto* const trades = trades_.find(id);
    if (trades == nullptr) {
        body += "null}";
        return;
    }
    const auto price = [&json](feed::Price value) {
        std::array<char, feed::kMaxJsonBytes> text;
        return std::string{text.data(), feed::write_price(text.data(), value, json.decimals())};
    };
    const auto session = trades_.session(trades->channel);
    body += fmt::format(
        R"({{"since":{},"complete":{},"count":{},"broken":{},"volume":{},"first":{},"high":{},"low":{},"last":{},)"
        R"("last_time":{}}}}})",
        session.since_utc_ns, session.complete, trades->count, trades->broken, trades->volume, price(trades->first),
        price(trades->high), price(trades->low), price(trades->last), trades->last_utc_ns);
}

}  // namespace millpond::gateway::web
