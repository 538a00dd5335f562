#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/engine/drop_copy.hpp>
#include <millpond/fix/message.hpp>
#include <millpond/fix/session.hpp>

namespace millpond::fixd {

/// Where the messages of a session, or of the sessions of a template, are copied to.
///
/// Threads: the I/O thread of the sessions, once they exist.
class CopyRoutes {
public:
    struct Route {
        std::shared_ptr<engine::DropCopy> copy;
        std::vector<std::string> types;  ///< MsgTypes; "*": of all application messages.
    };

    /// producer: the number of the I/O thread.
    void set(std::vector<Route> routes, std::size_t producer) {
        routes_ = std::move(routes);
        producer_ = producer;
    }
    /// message: as fix::Writer made it.
    void on_sent(const fix::Session& session, std::string_view message) const noexcept;
    void on_received(const fix::Session& session, const fix::Message& message) const noexcept;

private:
    std::vector<Route> routes_;
    std::size_t producer_{0};
};

}  // namespace millpond::fixd
