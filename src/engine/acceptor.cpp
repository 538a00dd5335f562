#include <millpond/engine/acceptor.hpp>

#include <algorithm>
#include <utility>

#include "listener.hpp"

namespace millpond::engine {

Acceptor::Acceptor(IoThread& io, const Options& options) : listener_(std::make_shared<Listener>(io, options)) {
    io.call([&] { listener_->begin(); });
}

Acceptor::~Acceptor() {
    // The listener first: it hands connections to the sessions, some of which live on other threads.
    listener_->io().call([&] { listener_->end(); });
    for (const auto& host : listener_->roster().all()) host->io().call([&] { listener_->end(*host); });
}

SessionHandle& Acceptor::add(SessionOptions session, Application& application, IoThread* on) {
    return listener_->add(std::move(session), application, on);
}

void Acceptor::add_template(SessionOptions model, Application& application, std::size_t most) {
    listener_->add_template(std::move(model), application, most);
}

std::uint16_t Acceptor::port() const noexcept { return listener_->port(); }

const Acceptor::Tallies& Acceptor::tallies() const noexcept { return listener_->tallies(); }

std::size_t Acceptor::connected() const { return listener_->roster().claimed(); }

std::vector<std::shared_ptr<SessionHandle>> Acceptor::sessions() const {
    const auto hosts = listener_->roster().all();
    return {hosts.begin(), hosts.end()};
}

void Acceptor::logout_all(std::string_view reason) {
    for (const auto& host : listener_->roster().all()) host->request_logout(std::string{reason});
}

std::vector<metrics::Registration> Acceptor::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    const auto& tallies = listener_->tallies();
    const metrics::Labels port{{"port", std::to_string(listener_->port())}};
    const auto turned_away = [&](const char* reason, const core::Tally& tally) {
        auto labels = port;
        labels.emplace_back("reason", reason);
        list.push_back(registry.add_counter(
            {"millpond_fix_turned_away_total", "Connections closed before they had a session.", labels}, tally));
    };
    list.push_back(
        registry.add_counter({"millpond_fix_accepted_total", "Connections accepted.", port}, tallies.accepted));
    turned_away("not_allowed", tallies.not_allowed);
    turned_away("unknown", tallies.unknown);
    turned_away("duplicate", tallies.duplicate);
    turned_away("full", tallies.full);
    turned_away("silent", tallies.silent);
    turned_away("handshake", tallies.handshakes_failed);
    turned_away("no_store", tallies.no_store);
    list.push_back(registry.add_counter(
        {"millpond_fix_reclaimed_total", "Disconnected dynamic sessions removed to make room.", port},
        tallies.reclaimed));
    return list;
}

}  // namespace millpond::engine
