#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

/// Pages over HTTP, for the gateway and for sinks.
namespace millpond::http {

/// An invalid request: the response has status 400 and this text.
class BadRequest : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The parameters of a request for a page.
struct Request {
    std::string_view path{};
    std::string_view query{};  ///< The text after '?', still percent-encoded.

    /// The value of a key of the query, percent-decoded; nullopt if the key is missing. Throws BadRequest for a '%'
    /// without two hexadecimal digits.
    [[nodiscard]] std::optional<std::string> parameter(std::string_view key) const;
    /// The value of a key as an integer from `min` to `max`; `otherwise` if it is missing or empty. Throws BadRequest
    /// for any other text.
    [[nodiscard]] std::size_t number(std::string_view key, std::size_t otherwise, std::size_t min = 0,
                                     std::size_t max = SIZE_MAX) const;
};

/// What a browser may do with a page that it has.
enum class Cache : std::uint8_t {
    no,          ///< Nothing: the content changes at any time.
    revalidate,  ///< Use it after asking whether it is still the same.
    immutable,   ///< Use it without asking.
};

struct Page {
    std::string type{};  ///< Content-Type; empty: there is no such page.
    std::string body{};
    std::string_view gzip{};  ///< The body compressed, which outlives the page; empty: it is not compressed.
    bool good{true};          ///< False: the status is 503.
    Cache cache{Cache::no};
    unsigned status{0};  ///< HTTP status; 0: 200, or 503 if not `good`.
    /// Appends the next part to the body; returns false after the last one. Empty: the body is complete. A body that
    /// takes longer than the thread's other work may wait has parts.
    std::function<bool(std::string& body)> more{};
};

/// Makes the page for a request. Called on the serving thread.
using Pages = std::function<Page(const Request& request)>;

/// Handles a POST request and makes the page with the result. authorization: the header of that name. May
/// throw BadRequest, as Pages may.
using Acts = std::function<Page(const Request& request, std::string_view authorization)>;

/// Called when a TLS handshake fails, with the peer's address and the reason.
using OnRefused = std::function<void(std::string_view peer, std::string_view reason)>;

}  // namespace millpond::http
