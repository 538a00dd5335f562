#include <millpond/engine/initiator.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "src/engine/connect/dialer.hpp"
#include "src/engine/store/store_keeper.hpp"

namespace millpond::engine {

Initiator::Initiator(IoThread& io) : io_(&io), keeper_(std::make_unique<StoreKeeper>()) {}

Initiator::~Initiator() {
    for (const auto& dialer : dialers_) {
        auto& host = dialer->host();
        host.io().call([&] { dialer->end(); });
        if (host.file() != nullptr) keeper_->forget(*host.file());
    }
}

SessionHandle& Initiator::add(SessionOptions session, Options options, Application& application, IoThread* on) {
    auto& thread = on != nullptr ? *on : *io_;
    auto dialer = std::make_unique<Dialer>(std::move(session), std::move(options), application, thread);
    for (const auto& known : dialers_) {
        if (known->host().name() == dialer->host().name()) {
            throw std::invalid_argument("the session " + known->host().name() + " is there twice");
        }
    }
    thread.call([&] { dialer->begin(); });
    if (auto* const file = dialer->host().file()) keeper_->keep(*file);
    dialers_.push_back(std::move(dialer));
    return dialers_.back()->host().handle();
}

void Initiator::remove(const SessionHandle& session) {
    const auto found =
        std::ranges::find_if(dialers_, [&](const auto& dialer) { return &dialer->host().handle() == &session; });
    if (found == dialers_.end()) return;
    auto& host = (*found)->host();
    host.io().call([&] { (*found)->end(); });
    if (host.file() != nullptr) keeper_->forget(*host.file());
    dialers_.erase(found);
}

std::size_t Initiator::connected() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(dialers_, [](const auto& dialer) { return dialer->host().claimed(); }));
}

std::vector<std::shared_ptr<SessionHandle>> Initiator::sessions() const {
    std::vector<std::shared_ptr<SessionHandle>> list;
    for (const auto& dialer : dialers_) list.push_back(dialer->handle());
    return list;
}

}  // namespace millpond::engine
