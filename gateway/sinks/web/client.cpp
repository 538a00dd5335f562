#include "gateway/sinks/web/client.hpp"

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_to_string.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/core/endian.hpp>

#include "gateway/json_lines/client_socket.hpp"
#include "gateway/json_lines/request.hpp"
#include "gateway/sinks/client_list.hpp"

namespace millpond::gateway::web {
namespace {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

constexpr std::size_t kMaxRequestBytes = 4'096;
constexpr double kRequestsPerSecond = 50;
constexpr double kRequestBurst = 200;
constexpr std::int64_t kProgressChecksPerStall = 8;  // checks of progress during a client's stall timeout
constexpr std::int64_t kCloseTimeoutNs = 1'000'000'000;
constexpr std::size_t kMaxReasonBytes = 120;  // RFC 6455 5.5: a control frame holds 125 bytes, 2 of them the code

struct FrameHead {
    std::array<std::byte, 10> bytes;
    std::size_t size;
};

/// Returns the header of an unmasked frame with a whole text message (RFC 6455 5.2): 81, then the size in 7 bits, or 7e
/// and the size in two bytes, or 7f and the size in eight.
FrameHead head_of(std::size_t size) noexcept {
    constexpr std::size_t kMaxShortSize = 125;
    FrameHead head{{std::byte{0x81}}, 2};
    if (size <= kMaxShortSize) {
        head.bytes[1] = static_cast<std::byte>(size);
    } else if (size <= std::numeric_limits<std::uint16_t>::max()) {
        head.bytes[1] = std::byte{126};
        core::store_be(&head.bytes[2], static_cast<std::uint16_t>(size));
        head.size = 4;
    } else {
        head.bytes[1] = std::byte{127};
        core::store_be(&head.bytes[2], std::uint64_t{size});
        head.size = 10;
    }
    return head;
}

}  // namespace

Client::Client(const ClientContext& shared, http::Stream&& stream, const json_lines::Source& source)
    : context_(shared),
      socket_(std::move(stream)),
      subscriber_(shared.settings.mode, source),
      peer_(socket_.next_layer().peer()),
      input_(kMaxRequestBytes),
      allowance_(kRequestsPerSecond, kRequestBurst),
      alive_ns_(core::monotonic_nanos()) {
    socket_.next_layer().tcp().expires_never();
    socket_.read_message_max(kMaxRequestBytes);
    socket_.auto_fragment(false);
    socket_.text(true);
    json_lines::set_client_options(socket_.next_layer().tcp().socket().native_handle(), shared.settings.send_buffer);
}

void Client::accept(const http::Listener::Head& head) {
    socket_.set_option(websocket::stream_base::decorator([&head](websocket::response_type& response) {
        response.erase(beast::http::field::server);
        if (head.count(beast::http::field::sec_websocket_protocol) != 0) {
            response.set(beast::http::field::sec_websocket_protocol, std::string{http::Access::kProtocol});
        }
    }));
    writing_ = true;
    socket_.async_accept(head, [self = shared_from_this()](beast::error_code error) {
        self->writing_ = false;
        self->context_.called = true;
        if (self->over_) return;
        self->open_ = !error;
        self->over_ = static_cast<bool>(error);
        self->alive_ns_ = core::monotonic_nanos();
        if (self->open_) self->read();
    });
}

void Client::read() {
    socket_.async_read(input_,
                       [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_read(error); });
}

void Client::on_read(beast::error_code error) {
    context_.called = true;
    if (over_) return;
    if (error == websocket::error::message_too_big || error == websocket::error::buffer_overflow) {
        context_.counters.overlong.add();
        context_.log(service::Severity::warning, context_.settings.name + ".overlong",
                     fmt::format("web sink '{}': client {}: over-long request", context_.settings.name, peer_));
    }
    if (error) {
        over_ = true;
        return;
    }
    request_waits_ = true;
}

void Client::apply(std::int64_t now_ns) {
    request_waits_ = false;
    const auto text = beast::buffers_to_string(input_.data());
    input_.consume(input_.size());
    if (!allowance_.admit(now_ns)) {
        context_.counters.bad_requests.add();
        return end("too many requests");
    }
    try {
        subscriber_.apply(json_lines::parse_request(text));
    } catch (const json_lines::RequestError& error) {
        context_.counters.bad_requests.add();
        subscriber_.reply("error", error.what());
    }
    read();
}

bool Client::serve(std::int64_t now_ns) {
    if (open_ && !over_ && !writing_) {
        if (request_waits_ && !ending() && !subscriber_.is_full()) apply(now_ns);
        if (!over_ && ending()) {
            send_close();
        } else if (!over_ && subscriber_.is_paused(now_ns)) {
            alive_ns_ = now_ns;
        } else if (!over_) {
            send(now_ns);
        }
    }
    counted_.count(context_.counters, subscriber_.account(), bytes_sent_);
    if (over_) return false;
    if (ending()) {
        if (ending_since_ns_ == 0) ending_since_ns_ = now_ns;
        const auto patience = std::min<std::int64_t>(kCloseTimeoutNs, context_.settings.stall.count());
        return now_ns - ending_since_ns_ < patience;
    }
    end_if_stalled(now_ns);
    return true;
}

bool Client::can_send_now() { return socket_.is_open() && socket_.next_layer().can_send_now(); }

void Client::send(std::int64_t now_ns) {
    if (const auto mode = subscriber_.plain_mode(); mode && can_send_now()) {
        const auto& run = context_.runs.from(subscriber_.next_line(), *mode);
        subscriber_.consume(run);
        if (!run.text.empty()) return write(run.text);
    }
    subscriber_.fill(now_ns);
    if (!subscriber_.failure().empty()) end(subscriber_.failure());
    if (subscriber_.text().empty()) {
        alive_ns_ = now_ns;
    } else {
        write(subscriber_.text());
    }
}

/// Sends a message. text: the subscriber's text; while can_send_now(), any text.
void Client::write(std::string_view text) {
    writing_ = true;
    in_flight_ = text.size();
    if (!can_send_now()) {
        return socket_.async_write(
            boost::asio::buffer(text.data(), text.size()),
            [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_written(error); });
    }
    const auto head = head_of(text.size());
    const bool gone = socket_.next_layer().send_now(
        {boost::asio::buffer(head.bytes.data(), head.size), boost::asio::buffer(text.data(), text.size())},
        [self = shared_from_this()](beast::error_code error) { self->on_written(error); });
    if (gone) sent();
}

void Client::on_written(beast::error_code error) {
    context_.called = true;
    if (over_ || error) {
        writing_ = false;
        over_ = true;
    } else {
        sent();
    }
}

void Client::sent() {
    writing_ = false;
    bytes_sent_ += in_flight_;
    subscriber_.on_text_sent(subscriber_.text().size());
    alive_ns_ = core::monotonic_nanos();
    if (ending() || subscriber_.has_more() || subscriber_.has_pending()) context_.called = true;
}

void Client::end_if_stalled(std::int64_t now_ns) {
    const auto stall = context_.settings.stall;
    if (!writing_) return;
    if (progress_.is_due(now_ns, stall.count() / kProgressChecksPerStall) &&
        progress_.moved(socket_.next_layer().tcp().socket().native_handle())) {
        alive_ns_ = now_ns;
    }
    if (now_ns - alive_ns_ <= stall.count()) return;
    context_.counters.stalled.add();
    context_.log(service::Severity::warning, context_.settings.name + ".stalled",
                 fmt::format("web sink '{}': client {} accepted no data for too long and was disconnected",
                             context_.settings.name, client_name(peer_, subscriber_.name())));
    end(fmt::format("no data was accepted for {} s", std::chrono::duration<double>(stall).count()));
}

void Client::end(std::string_view reason) {
    if (reason_.empty()) reason_ = reason.substr(0, kMaxReasonBytes);
    context_.called = true;
}

void Client::send_close() {
    if (!subscriber_.ending()) {
        subscriber_.end(reason_);
        return write(subscriber_.text());
    }
    if (std::exchange(close_sent_, true)) return;
    const websocket::close_reason why{websocket::close_code::policy_error, beast::string_view{reason_}};
    socket_.async_close(why, [self = shared_from_this()](beast::error_code) {
        self->over_ = true;
        self->context_.called = true;
    });
}

void Client::close() {
    over_ = true;
    beast::error_code ignored;
    static_cast<void>(socket_.next_layer().tcp().socket().close(ignored));
}

}  // namespace millpond::gateway::web
