#pragma once

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "service/http/access.hpp"
#include "service/http/allowance.hpp"
#include "service/http/listener.hpp"
#include "service/http/page.hpp"
#include "service/http/stream.hpp"

namespace millpond::http {

/// One connection; lives as long as an operation on it does.
class Session : public std::enable_shared_from_this<Session> {
public:
    Session(boost::asio::ip::tcp::socket&& socket, const Listener::Options& options, const Pages& pages,
            const Access& access);

    /// Shakes hands where there is TLS, and reads requests from then on.
    void begin();
    void close();

private:
    void read();
    void read_more();
    /// Gives the parser what is there; reads more where that is no whole request.
    void parse();
    void on_read(boost::beast::error_code error);
    /// Makes the response; false when the connection was taken over instead.
    [[nodiscard]] bool answer();
    /// What makes a well-formed request one that is not answered; empty when nothing does.
    [[nodiscard]] std::string_view fault() const;
    bool refuse(boost::beast::http::status status, std::string_view reason);
    void show(Page page);
    /// Answers an invalid request and closes the connection.
    void turn_away(boost::beast::http::status status);
    void send();
    void write_more();
    void on_written(boost::beast::error_code error);
    /// Reads remaining input for a moment.
    void drain();
    [[nodiscard]] std::optional<Access::Refusal> refusal(std::string_view path) const;

    Stream stream_;
    const Listener::Options& options_;
    const Pages& pages_;
    const Access& access_;
    Allowance allowance_;
    boost::beast::flat_buffer buffer_;
    boost::asio::steady_timer patience_;
    bool too_late_{false};  // the time for the request is over
    bool folded_{false};    // a line of its head begins with a space
    char last_byte_{0};     // before what is parsed next
    std::array<char, 4'096> ignored_;
    std::size_t drained_{0};
    std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> parser_;
    boost::beast::http::response<boost::beast::http::string_body> response_;
    std::string sent_;  ///< The response as bytes, until they are written.
    std::size_t written_{0};
};

}  // namespace millpond::http
