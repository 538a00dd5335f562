#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

/// Pages over HTTP, for the gateway and for sinks that serve some.
namespace millpond::http {

/// A request that makes no sense: status 400 with the text.
class BadRequest : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The parameters of a request for a page.
struct Request {
    std::string_view path{};
    std::string_view query{};  ///< Behind the '?', as it was written.

    /// The value of a query's key, percent-decoded; nothing when the key is not there. Throws BadRequest for a '%'
    /// without two hexadecimal digits.
    [[nodiscard]] std::optional<std::string> parameter(std::string_view key) const;
    /// The same as a whole number from `least` to `most`; `otherwise` when it is not there or empty. Throws
    /// BadRequest for anything else.
    [[nodiscard]] std::size_t number(std::string_view key, std::size_t otherwise, std::size_t least = 0,
                                     std::size_t most = SIZE_MAX) const;
};

struct Page {
    std::string type{};  ///< Content-Type; empty: there is no such page.
    std::string body{};
    bool good{true};        ///< False: status 503.
    bool may_cache{false};  ///< A browser may keep it and ask whether it is still the same.
    unsigned status{0};     ///< Another status; 0: according to `good`.
};

/// Makes the page of a request; called on the thread that serves.
using Pages = std::function<Page(const Request& request)>;

/// Does what a POST asks for, given its `Authorization`, and makes the page with the result.
using Acts = std::function<Page(const Request& request, std::string_view authorization)>;

}  // namespace millpond::http
