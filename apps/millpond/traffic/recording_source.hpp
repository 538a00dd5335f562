#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "apps/millpond/traffic/iex_history.hpp"
#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// Adds each datagram to a history when the next one is asked for: it has been sent, or is about to be.
class RecordingSource final : public Source {
public:
    RecordingSource(Source& source, IexHistory& history) : source_(source), history_(history) {}

    [[nodiscard]] bool next(Outgoing& out) override {
        history_.add(std::exchange(newest_, {}));
        if (!source_.next(out)) return false;
        newest_ = out.bytes;
        return true;
    }
    [[nodiscard]] std::string error() const override { return source_.error(); }
    [[nodiscard]] double fraction() const override { return source_.fraction(); }

private:
    Source& source_;
    IexHistory& history_;
    std::span<const std::byte> newest_;
};

}  // namespace millpond::traffic
