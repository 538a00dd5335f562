#include "service/http/session.hpp"

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/tls/failure.hpp>

namespace millpond::http {
namespace {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using bhttp::field;

constexpr std::chrono::seconds kTimeout{5};
constexpr std::size_t kMaxHead = 8'192;
constexpr std::size_t kReadBytes = 4'096;
constexpr std::array kCacheControl{"no-store", "no-cache", "public, max-age=31536000, immutable"};  // by Cache
constexpr double kRequestsPerSecond = 50;
constexpr double kMaxAtOnce = 100;
// Reads what the client still sends after the last response: otherwise the kernel would reset the connection.
constexpr std::chrono::seconds kDrainPatience{1};
constexpr std::size_t kMaxDrained = std::size_t{1} << 20U;

/// Status for a malformed or oversized request; `unknown` if the client is gone. has_target: the request line is known.
bhttp::status status_of(beast::error_code error, bool has_target) {
    if (error.category() != make_error_code(bhttp::error::end_of_stream).category()) return bhttp::status::unknown;
    if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message) return bhttp::status::unknown;
    if (error == bhttp::error::body_limit) return bhttp::status::payload_too_large;
    if (error != bhttp::error::header_limit && error != bhttp::error::buffer_overflow)
        return bhttp::status::bad_request;
    return has_target ? bhttp::status::request_header_fields_too_large : bhttp::status::uri_too_long;
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// Whether `Accept-Encoding` permits gzip by name, without a quality of zero. Source: RFC 9110 12.5.3.
bool accepts_gzip(std::string_view header) {
    constexpr std::string_view kName = "gzip";
    for (std::string_view rest = header; !rest.empty();) {
        auto coding = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(coding.size() + 1, rest.size()));
        coding.remove_prefix(std::min(coding.find_first_not_of(" \t"), coding.size()));
        if (!coding.starts_with(kName)) continue;
        coding.remove_prefix(kName.size());
        if (coding.find_first_not_of(" \t") == std::string_view::npos) return true;
        const auto quality = coding.find("q=");
        return quality != std::string_view::npos &&
               coding.find_first_of("123456789", quality) != std::string_view::npos;
    }
    return false;
}

/// Entity tag of a page, so that a browser does not download the same contents again.
std::string mark_of(const std::string& body) {
    return fmt::format("\"{:x}-{:x}\"", body.size(), std::hash<std::string>{}(body));
}

/// Serializes the status line and the fields, with the empty line after them. Beast's serializer passes buffer
/// sequences of many types to both kinds of stream, which was most of this file's compile time.
std::string head_of(const bhttp::response<bhttp::string_body>& response) {
    auto text = fmt::format("HTTP/{}.{} {} {}\r\n", response.version() / 10, response.version() % 10,
                            response.result_int(), view(response.reason()));
    for (const auto& one : response) text += fmt::format("{}: {}\r\n", view(one.name_string()), view(one.value()));
    return text += "\r\n";
}

}  // namespace

Session::Session(Stream&& stream, const Options& options, const Pages& pages, const Listener::Upgrade& upgrade,
                 const Access& access, PageParts& parts)
    : stream_(std::move(stream)),
      options_(options),
      pages_(pages),
      upgrade_(upgrade),
      access_(access),
      parts_(parts),
      allowance_(kRequestsPerSecond, kMaxAtOnce),
      buffer_(kMaxHead * 2),
      request_timer_(stream_.get_executor()) {}

void Session::begin() {
    if (!stream_.is_secure()) return read();
    stream_.tcp().expires_after(kTimeout);
    stream_.async_handshake([self = shared_from_this()](beast::error_code error) {
        if (!error) return self->read();
        const auto& options = self->options_;
        if (!options.on_refused) return;
        const auto reason = error == boost::asio::error::operation_aborted  // by close()
                                ? fmt::format("closed for a newer one of {} connections", options.max_connections)
                                : std::string{self->stream_.handshake_failure(error)};
        options.on_refused(self->stream_.peer(), fmt::format("{}: {}", tls::kHandshakeFailed, reason));
    });
}

void Session::read() {
    parser_.emplace();
    parser_->header_limit(kMaxHead);
    parser_->body_limit(0);
    parser_->eager(true);
    folded_ = false;
    last_byte_ = 0;
    stream_.tcp().expires_never();
    request_timer_.expires_after(kTimeout);
    request_timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (error || !self) return;
        self->timed_out_ = true;
        self->stream_.tcp().cancel();  // on_read closes the connection
    });
    parse();
}

void Session::read_more() {
    stream_.async_read_some(buffer_.prepare(kReadBytes),
                            [self = shared_from_this()](beast::error_code error, std::size_t bytes) {
                                if (error) return self->on_read(error);
                                self->buffer_.commit(bytes);
                                self->parse();
                            });
}

void Session::parse() {
    beast::error_code error;
    while (!parser_->is_done()) {
        const auto* const begin = static_cast<const char*>(buffer_.data().data());
        const auto used = buffer_.size() == 0 ? 0 : parser_->put(buffer_.data(), error);
        // The parser joins folded lines, which must be refused (RFC 9112 5.2).
        for (const char byte : std::string_view{begin, used}) {
            folded_ = folded_ || (std::exchange(last_byte_, byte) == '\n' && (byte == ' ' || byte == '\t'));
        }
        buffer_.consume(used);
        if (error && error != bhttp::error::need_more) return on_read(error);
        if (!parser_->is_done() && (error || used == 0)) return read_more();
    }
    on_read({});
}

void Session::close() { stream_.tcp().close(); }

void Session::on_read(beast::error_code error) {
    request_timer_.cancel();
    stream_.tcp().expires_after(kTimeout);  // for the answer
    if (error && timed_out_) {
        if (parser_->got_some()) reject(bhttp::status::request_timeout);
        return;
    }
    if (error) {
        // Gone or silent: the connection closes with this object.
        if (const auto status = status_of(error, !parser_->get().target().empty()); status != bhttp::status::unknown)
            reject(status);
        return;
    }
    response_ = {};
    response_.version(parser_->get().version());
    response_.keep_alive(parser_->get().keep_alive());
    if (answer()) send_complete();  // otherwise it is a WebSocket now
}

void Session::send_complete() {
    if (!more_) return send();
    parts_.add([self = shared_from_this()] {
        if (self->more_(self->response_.body())) return true;
        self->more_ = {};
        self->stream_.tcp().expires_after(kTimeout);
        self->send();
        return false;
    });
}

void Session::reject(bhttp::status status) {
    response_ = {};
    response_.keep_alive(false);
    refuse(status, view(bhttp::obsolete_reason(status)));
    send();
}

void Session::send() {
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Referrer-Policy", "no-referrer");
    response_.prepare_payload();
    sent_ = head_of(response_);
    if (parser_->get().method() != bhttp::verb::head) sent_ += response_.body();
    written_ = 0;
    write_more();
}

void Session::write_more() {
    stream_.async_write_some(boost::asio::buffer(sent_) + written_,
                             [self = shared_from_this()](beast::error_code error, std::size_t bytes) {
                                 self->written_ += bytes;
                                 if (error || self->written_ == self->sent_.size()) return self->on_written(error);
                                 self->write_more();
                             });
}

std::string_view Session::fault() const {
    const auto& head = parser_->get();
    constexpr unsigned kHttp11 = 11;
    const auto hosts = head.count(field::host);
    if (hosts > 1) return "more than one Host";
    if (hosts == 0 && head.version() >= kHttp11) return "no Host";
    if (folded_) return "a header line begins with a space";
    if (!boost::beast::websocket::is_upgrade(head)) return {};
    // RFC 6455 4.1: 16 bytes in base64.
    constexpr std::size_t kKeyChars = 22;
    const auto key = view(head[field::sec_websocket_key]);
    const auto is_base64 = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '+' || c == '/';
    };
    const bool good = head.count(field::sec_websocket_key) == 1 && key.size() == kKeyChars + 2 && key.ends_with("==") &&
                      std::ranges::all_of(key.substr(0, kKeyChars), is_base64);
    return good ? std::string_view{} : "Sec-WebSocket-Key is not 16 bytes in base64";
}

std::optional<Access::Refusal> Session::refusal(std::string_view path) const {
    const auto& head = parser_->get();
    const Credentials credentials{.host = view(head[field::host]),
                                  .origin = view(head[field::origin]),
                                  .authorization = view(head[field::authorization]),
                                  .protocols = view(head[field::sec_websocket_protocol])};
    return access_.refusal(credentials, options_.is_open && options_.is_open(path));
}

bool Session::answer() {
    auto& head = parser_->get();
    const auto target = view(head.target());
    const auto end = std::min(target.find('?'), target.size());
    const Request request{.path = target.substr(0, end),
                          .query = end == target.size() ? std::string_view{} : target.substr(end + 1)};
    if (!allowance_.admit(core::monotonic_nanos())) {
        response_.keep_alive(false);
        return refuse(bhttp::status::too_many_requests, "too many requests");
    }
    if (const auto what = fault(); !what.empty()) {
        response_.keep_alive(false);
        return refuse(bhttp::status::bad_request, what);
    }
    const bool acts = options_.acts && head.method() == bhttp::verb::post;
    if (!acts && head.method() != bhttp::verb::get && head.method() != bhttp::verb::head) {
        response_.set(field::allow, "GET, HEAD");
        return refuse(bhttp::status::method_not_allowed, "only GET and HEAD are supported");
    }
    if (const auto refused = refusal(request.path)) {
        if (refused->status == static_cast<unsigned>(bhttp::status::unauthorized)) {
            response_.set(field::www_authenticate, "Bearer");
        }
        return refuse(static_cast<bhttp::status>(refused->status), refused->reason);
    }
    if (!acts && upgrade_ && boost::beast::websocket::is_upgrade(head)) {
        if (upgrade_(stream_, head)) return false;
        response_.keep_alive(false);
        return refuse(bhttp::status::service_unavailable, "no WebSocket at this path, or too many clients");
    }
    try {
        respond(acts ? options_.acts(request, view(head[field::authorization])) : pages_(request));
    } catch (const BadRequest& error) {
        return refuse(bhttp::status::bad_request, error.what());
    }
    return true;
}

bool Session::refuse(bhttp::status status, std::string_view reason) {
    response_.result(status);
    response_.set(field::content_type, "text/plain");
    response_.body() = fmt::format("{}\n", reason);
    return true;
}

void Session::respond(Page page) {
    if (page.type.empty()) {
        refuse(bhttp::status::not_found, "not found");
        return;
    }
    response_.result(page.status != 0 ? static_cast<bhttp::status>(page.status)
                     : page.good      ? bhttp::status::ok
                                      : bhttp::status::service_unavailable);
    response_.set(field::content_type, page.type);
    if (!page.gzip.empty()) {
        response_.set(field::vary, "Accept-Encoding");
        if (accepts_gzip(view(parser_->get()[field::accept_encoding]))) {
            response_.set(field::content_encoding, "gzip");
            page.body = page.gzip;
        }
    }
    response_.set(field::cache_control, kCacheControl[static_cast<std::size_t>(page.cache)]);
    if (page.cache != Cache::no) {
        const auto mark = mark_of(page.body);
        response_.set(field::etag, mark);
        if (view(parser_->get()[field::if_none_match]) == mark) {
            response_.result(bhttp::status::not_modified);
            page.body.clear();
        }
        response_.set("Content-Security-Policy",
                      "default-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self' ws: wss:; "
                      "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    }
    response_.body() = std::move(page.body);
    more_ = std::move(page.more);
}

void Session::on_written(beast::error_code error) {
    if (error) return;
    if (response_.keep_alive()) return read();
    static_cast<void>(stream_.tcp().socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, error));
    if (!error) drain();
}

void Session::drain() {
    if (drained_ > kMaxDrained) return;
    stream_.tcp().expires_after(kDrainPatience);
    stream_.tcp().async_read_some(boost::asio::buffer(ignored_),
                                  [self = shared_from_this()](beast::error_code error, std::size_t bytes) {
                                      self->drained_ += bytes;
                                      if (!error) self->drain();
                                  });
}

}  // namespace millpond::http
