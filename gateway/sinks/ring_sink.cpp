#include "gateway/sinks/ring_sink.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_reader.hpp>

#include "gateway/sinks/sink_thread.hpp"

namespace millpond::gateway {
namespace {

/// Maximum time for reading a dead gateway's ring while the sink accepts no events.
constexpr std::int64_t kRescuePatienceNs = 2'000'000'000;

class RingSink final : public PreparedSink {
public:
    RingSink(RingSinkOptions options, MakeSink make) : options_(std::move(options)), make_(std::move(make)) {}

    void check() override {
        if (options_.check) options_.check();
    }
    void open(const SinkHost& host) override { sink_ = make_(host); }
    std::unique_ptr<Consumer> join(const SinkHost& host) override {
        const auto& basics = options_.basics;
        return std::make_unique<SinkThread>(SinkThread::Options{.ring = basics.ring,
                                                                .name = basics.name,
                                                                .poll = basics.poll,
                                                                .pin = basics.pin,
                                                                .holds = options_.holds,
                                                                .replaced = host.replaced,
                                                                .request_books = books_of(host, basics.ring)},
                                            std::move(sink_), host.log);
    }

private:
    static std::function<void()> books_of(const SinkHost& host, const std::string& ring) {
        if (!host.request_books) return {};
        return [request = host.request_books, ring] { request(ring); };
    }

    RingSinkOptions options_;
    MakeSink make_;
    std::unique_ptr<Sink> sink_;
};

}  // namespace

std::unique_ptr<PreparedSink> prepare_ring_sink(RingSinkOptions options, MakeSink make) {
    return std::make_unique<RingSink>(std::move(options), std::move(make));
}

void rescue_ring(const SinkBasics& basics, const MakeSink& make, const SinkHost& host) {
    const auto& [name, ring, poll, pin] = basics;
    try {
        if (market::RingReader{{.name = ring, .own = true}}.has_writer()) return;
    } catch (const market::RingError& error) {
        // A missing ring is normal and not logged.
        if (error.fault() != market::RingFault::not_found) {
            host.log(service::Severity::warning, "rescue " + name, fmt::format("sink '{}': {}", name, error.what()));
        }
        return;
    }
    SinkThread left{{.ring = ring, .name = name}, make(host), host.log};
    const auto until = core::monotonic_nanos() + kRescuePatienceNs;
    while (left.account().queued != 0 && core::monotonic_nanos() < until) left.round(core::monotonic_nanos());
    const auto account = left.account();
    if (account.delivered + account.missed + account.queued == 0) return;
    host.log(service::Severity::info, "rescue " + name,
             fmt::format("{} sink '{}': wrote {} events that an earlier gateway left in ring '{}'; {} were lost",
                         left.type(), name, account.delivered, ring, account.missed + account.queued));
}

std::string claim_of(const std::filesystem::path& path) { return "file " + canonical_path(path).string(); }

std::filesystem::path canonical_path(const std::filesystem::path& path) {
    auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(path));
    return canonical.has_filename() ? canonical : canonical.parent_path();
}

}  // namespace millpond::gateway
