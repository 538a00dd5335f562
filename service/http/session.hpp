#pragma once

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "service/http/access.hpp"
#include "service/http/allowance.hpp"
#include "service/http/listener.hpp"
#include "service/http/options.hpp"
#include "service/http/page.hpp"
#include "service/http/page_parts.hpp"
#include "service/http/stream.hpp"

namespace millpond::http {

/// A connection; lives as long as an operation on it.
class Session : public std::enable_shared_from_this<Session> {
public:
    Session(Stream&& stream, const Options& options, const Pages& pages, const Listener::Upgrade& upgrade,
            const Access& access, PageParts& parts);

    /// Performs the TLS handshake, if any, and then reads requests.
    void begin();
    void close();

private:
    void read();
    void read_more();
    /// Parses the bytes received so far, and reads more if the request is incomplete.
    void parse();
    void on_read(boost::beast::error_code error);
    /// Makes the response. Returns false if the connection became a WebSocket.
    [[nodiscard]] bool answer();
    /// Reason to reject a well-formed request; empty if there is none.
    [[nodiscard]] std::string_view fault() const;
    bool refuse(boost::beast::http::status status, std::string_view reason);
    void respond(Page page);
    /// Answers an invalid request and closes the connection.
    void reject(boost::beast::http::status status);
    /// Sends the response once its body is complete.
    void send_complete();
    void send();
    void write_more();
    void on_written(boost::beast::error_code error);
    /// Reads remaining input for a moment.
    void drain();
    [[nodiscard]] std::optional<Access::Refusal> refusal(std::string_view path) const;

    Stream stream_;
    const Options& options_;
    const Pages& pages_;
    const Listener::Upgrade& upgrade_;
    const Access& access_;
    PageParts& parts_;
    Allowance allowance_;
    boost::beast::flat_buffer buffer_;
    boost::asio::steady_timer request_timer_;
    bool timed_out_{false};
    bool folded_{false};  // a header line begins with a space
    char last_byte_{0};   // the byte before the next one to parse
    std::array<char, 4'096> ignored_;
    std::size_t drained_{0};
    std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> parser_;
    boost::beast::http::response<boost::beast::http::string_body> response_;
    std::function<bool(std::string& body)> more_;  // of the response's body
    std::string sent_;                             ///< The response as bytes that are being written.
    std::size_t written_{0};
};

}  // namespace millpond::http
