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

/// The drop copies that a session's messages go to; for a template, those of all its sessions.
///
/// Threads: the I/O thread of the sessions, once they exist.
class CopyRoutes {
public:
    struct Route {
        std::shared_ptr<engine::DropCopy> copy;
        std::vector<std::string> types;  ///< MsgTypes; "*": all application messages.
    };

    /// Replaces the routes. producer: the number of the I/O thread.
    void set(std::vector<Route> routes, std::size_t producer) {
        routes_ = std::move(routes);
        producer_ = producer;
    }
    /// Copies a sent message. message: as fix::Writer made it.
    void on_sent(const fix::Session& session, std::string_view message) const noexcept;
    void on_received(const fix::Session& session, const fix::Message& message) const noexcept;

private:
    std::vector<Route> routes_;
    std::size_t producer_{0};
};

}  // namespace millpond::fixd
