#include "gateway/sinks/ring_sink.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_reader.hpp>

#include "gateway/sinks/sink_thread.hpp"

namespace millpond::gateway {
namespace {

/// How long a dead gateway's ring is read while the sink takes nothing.
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
                                                                .replaced = host.replaced},
                                            std::move(sink_), host.say);
    }

private:
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
        // Usually there is none.
        if (error.fault() != market::RingFault::not_found) {
            host.say(service::Severity::warning, "rescue " + name, fmt::format("sink '{}': {}", name, error.what()));
        }
        return;
    }
    SinkThread left{{.ring = ring, .name = name}, make(host), host.say};
    const auto until = core::monotonic_nanos() + kRescuePatienceNs;
    while (left.account().queued != 0 && core::monotonic_nanos() < until) left.round(core::monotonic_nanos());
    const auto account = left.account();
    if (account.delivered + account.missed + account.queued == 0) return;
    host.say(service::Severity::info, "rescue " + name,
             fmt::format("{} sink '{}': wrote {} events that an earlier gateway left in ring '{}'; {} were lost",
                         left.type(), name, account.delivered, ring, account.missed + account.queued));
}

std::string claim_of(const std::filesystem::path& path) { return "file " + canonical_path(path).string(); }

std::filesystem::path canonical_path(const std::filesystem::path& path) {
    auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(path));
    return canonical.has_filename() ? canonical : canonical.parent_path();
}

void need_writable_folder(const std::filesystem::path& folder) {
    auto existing = folder.empty() ? std::filesystem::path{"."} : folder;
    while (!std::filesystem::exists(existing) && existing.has_parent_path() && existing != existing.parent_path()) {
        existing = existing.parent_path();
    }
    if (!std::filesystem::exists(existing)) existing = ".";
    const auto fail = [](int error, const std::string& what) {
        throw std::system_error(error, std::generic_category(), what);
    };
    if (!std::filesystem::is_directory(existing)) fail(ENOTDIR, fmt::format("'{}'", existing.string()));
    if (::access(existing.c_str(), W_OK | X_OK) != 0) {
        fail(errno, fmt::format("cannot write in '{}'", existing.string()));
    }
}

}  // namespace millpond::gateway
