#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/client_list.hpp"

namespace millpond::gateway::json_lines {

/// The clients of a sink with JSON lines, as its ClientList shows them.
///
/// Threads: the sink's.
class ClientTable {
public:
    /// peer: address of the client.
    void add(Subscriber& subscriber, std::string_view peer);
    void remove(const Subscriber& subscriber);
    /// Publishes the clients once a second. Returns those that an operator disconnects; the caller ends them.
    [[nodiscard]] std::vector<Subscriber*> update(const LineLog& log, std::int64_t now_ns);
    [[nodiscard]] const std::shared_ptr<ClientList>& list() const noexcept { return list_; }

    /// Reason for a client that an operator disconnects.
    static constexpr std::string_view kDisconnected = "an operator has closed this connection";

private:
    struct Client {
        Subscriber* subscriber;
        std::uint64_t id;
        std::string peer;
        std::int64_t connected_utc_ns;
        std::uint64_t delivered{0};  // when the list was last published
    };
    /// The log's end at an earlier time.
    struct EndMark {
        std::uint64_t line{0};
        std::int64_t at_ns{0};  // 0: not set
    };

    /// Minimum time that the line has been in the log, up to the age of the oldest mark.
    [[nodiscard]] std::int64_t age(std::uint64_t line, std::int64_t now_ns) const noexcept;

    std::vector<Client> clients_;
    std::uint64_t added_{0};
    std::shared_ptr<ClientList> list_{std::make_shared<ClientList>()};
    std::int64_t published_ns_{0};
    std::array<EndMark, 64> marks_{};  // the newest, each at its number modulo the size
    std::uint64_t next_mark_{0};
};

}  // namespace millpond::gateway::json_lines
