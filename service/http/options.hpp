#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

#include "service/http/page.hpp"
#include "service/token.hpp"

namespace millpond::http {

/// Options of a Server and of a Listener.
struct Options {
    std::string name{};  ///< Name in error messages, and of a Server's thread.
    net::SocketAddress listen{};
    service::Token token{};
    tls::Context tls{};  ///< Not on(): plain HTTP.
    std::size_t max_connections{64};
    std::function<bool(std::string_view path)> is_open{};  ///< Whether a page needs no token; empty: all pages need it.
    Acts acts{};                                           ///< Empty: GET and HEAD only.
    OnRefused on_refused{};
};

}  // namespace millpond::http
