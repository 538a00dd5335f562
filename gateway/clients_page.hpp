#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "gateway/health/state.hpp"
#include "service/event_log.hpp"
#include "service/http/page.hpp"
#include "service/http/reload_page.hpp"
#include "service/log.hpp"

namespace millpond::gateway {

/// GET /api/clients, and POST /api/disconnect for requests with the admin token, as web/openapi.yaml describes them.
///
/// Threads: any.
class ClientsPage {
public:
    using StateSource = std::function<std::shared_ptr<const health::State>()>;

    ClientsPage(StateSource state, http::ReloadPage& admin, service::EventLog& events, service::Log& log)
        : state_(std::move(state)), admin_(admin), events_(events), log_(log) {}

    /// Returns an empty page for another path.
    [[nodiscard]] http::Page page(const http::Request& request) const;
    /// Lets the sink close the connection of a client. Throws BadRequest.
    [[nodiscard]] http::Page disconnect(const http::Request& request, std::string_view authorization) const;

private:
    StateSource state_;
    http::ReloadPage& admin_;
    service::EventLog& events_;
    service::Log& log_;
};

}  // namespace millpond::gateway
