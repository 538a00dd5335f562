#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/sink.hpp"

namespace millpond::gateway::tcp {

/// What a client asked for in one line, a JSON object:
/// ```
/// {"subscribe":["AAPL","MSFT"]}   these too; the first such request ends "everything"; ["*"] is everything
/// {"unsubscribe":["AAPL"]}        these no more; ["*"] is nothing
/// {"mode":"conflate"}             or "every"
/// {"account":true}                asks for a line with the client's account
/// ```
/// Several keys may stand in one line; they are obeyed in this order.
struct Request {
    std::vector<std::string> subscribe;
    std::vector<std::string> unsubscribe;
    std::optional<Delivery> mode;
    bool account{false};
};

/// A line that is no request. The text says what is wrong with it.
class RequestError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws RequestError.
[[nodiscard]] Request parse_request(std::string_view line);

}  // namespace millpond::gateway::tcp
