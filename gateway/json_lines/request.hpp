#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// A request of a client, one line with a JSON object:
/// ```
/// {"subscribe":["AAPL","MSFT"]}   these too; the first such request ends "everything"; ["*"] is everything
/// {"unsubscribe":["AAPL"]}        removes these; ["*"] removes all
/// {"mode":"conflate"}             or "every"
/// {"interval_ms":50}              lines are sent in batches at this interval; 0: at once
/// {"account":true}                asks for a line with the client's account
/// {"echo":7}                      {"type":"echo","echo":7} when all that was published before has been sent
/// {"token":"..."}                 the token; a tcp sink with a token needs it first, and only then
/// ```
/// A line may have several keys; they take effect in this order.
struct Request {
    std::vector<std::string> subscribe;
    std::vector<std::string> unsubscribe;
    std::optional<Delivery> mode;
    std::optional<std::chrono::milliseconds> interval;
    bool account{false};
    std::optional<std::uint64_t> echo;
    std::optional<std::string> token;
};

/// A line that is not a valid request. The text has the reason.
class RequestError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws RequestError.
[[nodiscard]] Request parse_request(std::string_view line);

}  // namespace millpond::gateway::json_lines
