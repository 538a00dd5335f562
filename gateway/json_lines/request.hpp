#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/json_lines/depth.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// Start of a replay: a time or a record of the journal.
struct ReplayStart {
    std::optional<std::int64_t> utc_ns{};  ///< The first event received at this time or later.
    std::uint64_t record{0};               ///< Otherwise this record, or the first event after it.
};
/// Formats a start as in a request.
[[nodiscard]] std::string json_of(const ReplayStart& start);

/// A request of a client, one line with a JSON object:
/// ```
/// {"subscribe":["AAPL","MSFT"]}   these too; the first such request ends "everything"; ["*"] is everything
/// {"subscribe":["AAPL"],"depth":10,"orders":true}   with the best levels of their books (or "full"), and the orders
/// {"subscribe":["AAPL"],"from":"2026-11-28T14:30:00Z"}   all subscriptions from this time on; {"record":N}: from this
///                                 record of the journal on; "board", the default: from now on
/// {"unsubscribe":["AAPL"]}        removes these; ["*"] removes all
/// {"mode":"conflate"}             or "every"
/// {"interval_ms":50}              lines are sent in batches at this interval; 0: at once
/// {"name":"pricer"}               the client's name in the list of clients, at most 64 bytes
/// {"account":true}                asks for a line with the client's account
/// {"echo":7}                      {"type":"echo","echo":7} when all that was published before has been sent
/// {"token":"..."}                 the token; a tcp sink with a token needs it first, and only then
/// ```
/// A line may have several keys, which are applied in this order.
struct Request {
    std::vector<std::string> subscribe;
    Depth depth;  ///< Of the instruments in `subscribe`.
    std::optional<ReplayStart> from;
    std::vector<std::string> unsubscribe;
    std::optional<Delivery> mode;
    std::optional<std::chrono::milliseconds> interval;
    std::optional<std::string> name;
    bool account{false};
    std::optional<std::uint64_t> echo;
    std::optional<std::string> token;
};

/// A line is not a valid request; the message has the reason.
class RequestError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Parses a line. Throws RequestError.
[[nodiscard]] Request parse_request(std::string_view line);

}  // namespace millpond::gateway::json_lines
