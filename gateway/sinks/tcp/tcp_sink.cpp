#include "gateway/sinks/tcp/tcp_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/quote_json.hpp>

namespace millpond::gateway::tcp {
namespace {

/// What no event and no socket calls for (a client's patience) is seen to after so long.
constexpr std::int64_t kLookEveryNs = 10'000'000;

void set_length(Line& line, std::string_view json) {
    line.text[json.size()] = '\n';
    line.length = static_cast<std::uint16_t>(json.size() + 1);
}

std::span<char, feed::kMaxJsonBytes> room_in(Line& line) { return std::span{line.text}.first<feed::kMaxJsonBytes>(); }

int epoll_with(int listener) {
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) {
        throw std::system_error(errno, std::generic_category(), "epoll");
    }
    return epoll;
}

}  // namespace

TcpSink::TcpSink(const Options& options, Say say)
    : options_(options),
      say_(std::move(say)),
      listener_(options),
      epoll_(epoll_with(listener_.descriptor())),
      log_(options.backlog),
      shared_{options_, counters_, say_, epoll_} {}

TcpSink::~TcpSink() {
    connections_.clear();
    close(epoll_);
}

void TcpSink::name(feed::InstrumentId, const feed::Venue&, const feed::Symbol& symbol) {
    standing_.name(symbol);
    for (const auto& connection : connections_) {
        connection->client().named(static_cast<feed::InstrumentId>(standing_.size() - 1));
    }
}

void TcpSink::board(const feed::Quote& quote, std::uint64_t number) { standing_.put(quote, number); }

void TcpSink::board(const feed::Status& status, std::uint64_t number) { standing_.put(status, number); }

Line& TcpSink::append(LineKind kind, feed::InstrumentId id, std::uint64_t events) {
    if (log_.end() >= slowest_ + log_.capacity()) make_room();
    return log_.append(kind, id, events);
}

void TcpSink::make_room() {
    // More than one line at once: otherwise each event would cost a look at every client while one of them is stuck.
    constexpr std::uint64_t kParts = 16;
    const auto oldest = log_.end() - log_.capacity() + std::max<std::uint64_t>(log_.capacity() / kParts, 1);
    for (const auto& connection : connections_) connection->client().leave_behind(oldest);
    find_slowest();
}

void TcpSink::find_slowest() noexcept {
    slowest_ = log_.end();
    for (const auto& connection : connections_) slowest_ = std::min(slowest_, connection->client().next_line());
}

Taken TcpSink::on(const feed::Quote& quote, std::uint64_t number) {
    if (connections_.empty()) {  // who comes later gets it as a standing quote
        standing_.put(quote, number);
        return Taken::kept;
    }
    auto& line = append(LineKind::quote, quote.instrument);
    set_length(line, feed::quote_json(room_in(line), quote, standing_.json_symbol(quote.instrument), number));
    standing_.put(quote, number, log_.end() - 1);
    return Taken::kept;
}

Taken TcpSink::on(const feed::Trade& trade, std::uint64_t number) {
    auto& line = append(LineKind::other, trade.instrument);
    set_length(line, feed::trade_json(room_in(line), trade, standing_.json_symbol(trade.instrument), number));
    return Taken::kept;
}

Taken TcpSink::on(const feed::Status& status, std::uint64_t number) {
    auto& line = append(LineKind::other, status.instrument);
    const bool all = status.instrument == feed::kNoInstrument;
    set_length(line, feed::status_json(room_in(line), status,
                                       all ? feed::JsonSymbol{} : standing_.json_symbol(status.instrument), number));
    standing_.put(status, number, log_.end() - 1);
    return Taken::kept;
}

Taken TcpSink::on(const feed::Gap& gap, std::uint64_t number) {
    auto& line = append(LineKind::other, feed::kNoInstrument);
    set_length(line, feed::gap_json(room_in(line), gap, number));
    return Taken::kept;
}

Taken TcpSink::on(const feed::Clear& clear, std::uint64_t number) {
    auto& line = append(LineKind::other, clear.instrument);
    const bool all = clear.instrument == feed::kNoInstrument;
    set_length(line, feed::clear_json(room_in(line), clear,
                                      all ? feed::JsonSymbol{} : standing_.json_symbol(clear.instrument), number));
    standing_.clear(clear);
    return Taken::kept;
}

void TcpSink::missed(std::uint64_t first, std::uint64_t last) {
    auto& line = append(LineKind::loss, feed::kNoInstrument, last - first + 1);
    const auto end =
        fmt::format_to_n(line.text.data(), feed::kMaxJsonBytes,
                         R"({{"type":"missed","count":{},"first":{},"last":{}}})", last - first + 1, first, last);
    set_length(line, {line.text.data(), end.size});
}

void TcpSink::accept_all(std::int64_t now_ns) {
    for (;;) {
        const auto accepted = listener_.accept();
        if (accepted.socket >= 0) {
            welcome(accepted, now_ns);
            continue;
        }
        if (accepted.error != 0) {
            say_(Severity::warning, options_.name + ".accept",
                 fmt::format("tcp sink '{}': cannot accept: {}", options_.name,
                             std::generic_category().message(accepted.error)));
        }
        return;
    }
}

void TcpSink::welcome(const Listener::Accepted& accepted, std::int64_t now_ns) {
    const auto peer = accepted.peer.to_string();
    if (connections_.size() >= options_.max_clients) {
        counters_.refused.add();
        const auto bye =
            fmt::format("{{\"type\":\"bye\",\"text\":\"{} clients are connected already\"}}\n", options_.max_clients);
        [[maybe_unused]] const auto sent = send(accepted.socket, bye.data(), bye.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(accepted.socket);
        say_(Severity::warning, options_.name + ".refused",
             fmt::format("tcp sink '{}': refused {}: {} clients are connected already", options_.name, peer,
                         options_.max_clients));
        return;
    }
    set_client_options(accepted.socket, options_.send_buffer);
    connections_.push_back(std::make_unique<Connection>(shared_, accepted.socket, peer, log_, standing_, now_ns));
    counters_.accepted.add();
    say_(Severity::info, options_.name + ".connect",
         fmt::format("tcp sink '{}': client {} connected", options_.name, peer));
}

bool TcpSink::is_due(std::int64_t now_ns) const noexcept {
    return called_ || somebody_knocks_ || served_ != log_.end() || now_ns - served_ns_ >= kLookEveryNs;
}

void TcpSink::step(std::int64_t monotonic_ns) {
    if (!is_due(monotonic_ns)) return;
    called_ = false;
    served_ns_ = monotonic_ns;
    served_ = log_.end();
    if (std::exchange(somebody_knocks_, false)) accept_all(monotonic_ns);
    const auto over = [&](const std::unique_ptr<Connection>& connection) {
        if (connection->serve(monotonic_ns)) return false;
        if (!connection->client().ending()) counters_.left.add();
        const auto last = connection->client().account();
        say_(Severity::info, options_.name + ".disconnect",
             fmt::format("tcp sink '{}': client {} is gone: published {} = delivered {} + filtered {} + conflated {} + "
                         "missed {} + queued {}",
                         options_.name, connection->peer(), last.published, last.delivered, last.filtered,
                         last.conflated, last.missed, last.queued));
        return true;
    };
    std::erase_if(connections_, over);
    find_slowest();
    counters_.clients.set(connections_.size());
}

void TcpSink::wait(std::chrono::nanoseconds longest) {
    std::array<epoll_event, 64> events;
    const timespec timeout{longest.count() / 1'000'000'000, longest.count() % 1'000'000'000};
    const int count = epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        if (event.data.ptr == nullptr) {
            somebody_knocks_ = true;
        } else {
            static_cast<Connection*>(event.data.ptr)->note(event.events);
            called_ = true;
        }
    }
}

void TcpSink::finish() {
    constexpr std::int64_t kPatienceNs = 500'000'000;
    constexpr std::int64_t kStandstillNs = 200'000'000;  // while no client takes anything
    const auto begin = core::monotonic_nanos();
    const auto serve_while = [&](auto condition) {
        auto moved_ns = core::monotonic_nanos();
        for (auto now = moved_ns; now - begin < kPatienceNs && now - moved_ns < kStandstillNs && condition();) {
            const auto sent = counters_.bytes.read();
            wait(std::chrono::milliseconds{1});
            now = core::monotonic_nanos();
            step(now);
            if (counters_.bytes.read() != sent) moved_ns = now;
        }
    };
    served_ns_ = 0;  // whatever is due, all are served once more
    step(begin);
    serve_while([this] {
        return std::any_of(connections_.begin(), connections_.end(),
                           [](const auto& connection) { return connection->client().has_more(); });
    });
    for (const auto& connection : connections_) connection->client().end("the gateway ends");
    serve_while([this] { return !connections_.empty(); });
}

}  // namespace millpond::gateway::tcp
