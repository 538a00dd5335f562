#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "gateway/sinks/csv/csv_sink.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/ring_sink.hpp"

namespace millpond::gateway::csv {
namespace {

using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    Keys::kRing,
    K::text<&Settings::path>("path", "FILE",
                             "File to write. A full file, and each session's file, is renamed to FILE.1, FILE.2, ..."),
    K::choice<&Settings::mode, kDeliveries>("mode", "every|conflate",
                                            "Write every quote, or the newest of each instrument once per flush."),
    K::bytes<&Settings::rotate_bytes>("rotate_bytes", "Size at which the file is renamed."),
    K::integer<&Settings::keep, 0, 1'000'000>("keep", "N", "Number of renamed files to keep; 0 keeps all."),
    K::integer<&Settings::flush_ms, 1, 60'000>("flush_ms", "N", "Longest time that rows wait in memory."),
    Keys::kPoll,
    Keys::kPin,
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "csv"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "CSV rows in a rotated file"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        if (settings.path.empty()) throw settings::ConfigError(context.user + ": key 'path' is missing");
        try {
            check_path(settings.path);
        } catch (const std::invalid_argument& error) {
            throw settings::ConfigError(context.user + ": " + error.what());
        }
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        return {{.name = settings.path, .claim = claim_of(settings.path), .file = settings.path}};
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        const std::chrono::milliseconds flush{settings.flush_ms};
        return prepare_ring_sink({.basics = static_cast<const SinkBasics&>(settings), .holds = flush},
                                 [settings, flush](const SinkHost& host) {
                                     return std::make_unique<CsvSink>(Options{.name = settings.name,
                                                                              .path = settings.path,
                                                                              .mode = settings.mode,
                                                                              .rotate_bytes = settings.rotate_bytes,
                                                                              .keep = settings.keep,
                                                                              .flush = flush,
                                                                              .file_mode = host.file_mode},
                                                                      host.say);
                                 });
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::csv
