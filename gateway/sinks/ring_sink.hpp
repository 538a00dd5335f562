#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway {

/// Creates a sink; arguments beyond the host are bound. Throws if a file, an address or a lock is not available.
using MakeSink = std::function<std::unique_ptr<Sink>(const SinkHost& host)>;

/// Options of a prepared sink that reads the ring on a SinkThread.
struct RingSinkOptions {
    SinkBasics basics;
    std::chrono::nanoseconds holds{};  ///< Time for which the sink may delay an event on purpose.
    std::function<void()> check{};     ///< Called by PreparedSink::check.
};
[[nodiscard]] std::unique_ptr<PreparedSink> prepare_ring_sink(RingSinkOptions options, MakeSink make);

/// Passes the events that a dead gateway left in the ring to the sink of `make`, for at most two seconds. Does nothing
/// if there is no ring, or if its writer is alive.
void rescue_ring(const SinkBasics& basics, const MakeSink& make, const SinkHost& host);

/// Returns the claim of an output at this path: its canonical path.
[[nodiscard]] std::string claim_of(const std::filesystem::path& path);
/// Returns the absolute path without links and without a slash at the end; missing components are unchanged.
[[nodiscard]] std::filesystem::path canonical_path(const std::filesystem::path& path);

}  // namespace millpond::gateway
