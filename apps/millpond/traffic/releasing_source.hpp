#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "apps/millpond/traffic/paced_session.hpp"
#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// Releases the messages of each datagram when the next one is asked for: it has been sent, or is about to be.
class ReleasingSource final : public Source {
public:
    ReleasingSource(Source& source, PacedSession& session) : source_(source), session_(session) {}

    [[nodiscard]] bool next(Outgoing& out) override {
        session_.release(std::exchange(messages_, 0));
        if (!source_.next(out)) {
            session_.end();
            return false;
        }
        messages_ = out.messages;
        return true;
    }
    [[nodiscard]] std::string error() const override { return source_.error(); }
    [[nodiscard]] double fraction() const override { return source_.fraction(); }

private:
    Source& source_;
    PacedSession& session_;
    std::uint64_t messages_{0};
};

}  // namespace millpond::traffic
