#include <millpond/engine/acceptor.hpp>

#include <algorithm>
#include <utility>

#include "src/engine/accept/listener.hpp"

namespace millpond::engine {

Acceptor::Acceptor(IoThread& io, const Options& options) : listener_(std::make_shared<Listener>(io, options)) {
    io.call([&] { listener_->begin(); });
}

Acceptor::~Acceptor() {
    // The listener ends first: it passes connections to the sessions, some of which run on other threads.
    listener_->io().call([&] { listener_->end(); });
    for (const auto& host : listener_->roster().all()) host->io().call([&] { listener_->end(*host); });
}

SessionHandle& Acceptor::add(SessionOptions session, Application& application, IoThread* on) {
    return listener_->add(std::move(session), application, on);
}

void Acceptor::add_template(SessionOptions model, Application& application, std::size_t max_sessions,
                            std::function<bool(std::string_view name)> is_disabled) {
    listener_->add_template(std::move(model), application, max_sessions, std::move(is_disabled));
}

void Acceptor::remove(const SessionHandle& session) { listener_->remove(session); }

std::vector<std::shared_ptr<SessionHandle>> Acceptor::remove_template(const fix::SessionConfig& ids) {
    return listener_->remove_template(ids);
}

void Acceptor::renew_tls(std::unique_ptr<tls::Context> context) {
    listener_->io().call([&] { listener_->renew_tls(std::move(context)); });
}

std::uint16_t Acceptor::port() const noexcept { return listener_->port(); }

const Acceptor::Counters& Acceptor::counters() const noexcept { return listener_->counters(); }

std::size_t Acceptor::connected() const { return listener_->roster().claimed(); }

std::vector<std::shared_ptr<SessionHandle>> Acceptor::sessions() const {
    std::vector<std::shared_ptr<SessionHandle>> list;
    for (const auto& host : listener_->roster().all()) list.emplace_back(host, &host->handle());
    return list;
}

std::vector<metrics::Registration> Acceptor::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    const auto& counters = listener_->counters();
    const metrics::Labels port{{"port", std::to_string(listener_->port())}};
    const auto refused = [&](const char* reason, const core::Tally& tally) {
        auto labels = port;
        labels.emplace_back("reason", reason);
        list.push_back(registry.add_counter(
            {"millpond_fix_turned_away_total", "Connections closed before they had a session.", labels}, tally));
    };
    list.push_back(
        registry.add_counter({"millpond_fix_accepted_total", "Connections accepted.", port}, counters.accepted));
    refused("not_allowed", counters.not_allowed);
    refused("unknown", counters.unknown);
    refused("duplicate", counters.duplicate);
    refused("full", counters.full);
    refused("silent", counters.silent);
    refused("handshake", counters.handshakes_failed);
    refused("not_admitted", counters.not_admitted);
    refused("no_store", counters.no_store);
    list.push_back(registry.add_counter(
        {"millpond_fix_reclaimed_total", "Disconnected dynamic sessions removed for new ones.", port},
        counters.reclaimed));
    return list;
}

}  // namespace millpond::engine
