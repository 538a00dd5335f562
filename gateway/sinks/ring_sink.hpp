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

/// A prepared sink that reads the ring on a SinkThread.
struct RingSinkOptions {
    SinkBasics basics;
    std::chrono::nanoseconds holds{};  ///< For how long it may hold an event on purpose.
    std::function<void()> check{};     ///< As PreparedSink::check.
};
[[nodiscard]] std::unique_ptr<PreparedSink> prepare_ring_sink(RingSinkOptions options, MakeSink make);

/// Lets the sink of `make` read the events that a dead gateway left in the ring, for at most two seconds. Does
/// nothing if there is no ring, or its writer lives.
void rescue_ring(const SinkBasics& basics, const MakeSink& make, const SinkHost& host);

/// The claim of an output at this path: its canonical path.
[[nodiscard]] std::string claim_of(const std::filesystem::path& path);
/// Absolute, without links and without a slash at the end; components that do not exist are unchanged.
[[nodiscard]] std::filesystem::path canonical_path(const std::filesystem::path& path);
/// Throws std::system_error when the folder, or the nearest folder above it that exists, cannot be written to.
void need_writable_folder(const std::filesystem::path& folder);

}  // namespace millpond::gateway
