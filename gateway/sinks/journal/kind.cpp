#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/sinks/journal/journal_sink.hpp"
#include "gateway/sinks/journal/settings.hpp"
#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/ring_sink.hpp"

namespace millpond::gateway::journal {
namespace {

using millpond::journal::Sync;
using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr std::pair<std::string_view, Sync> kSyncs[] = {
    {"none", Sync::none}, {"interval", Sync::interval}, {"each", Sync::each}};
constexpr std::uint64_t kMostHours = 24ULL * 366 * 100;
constexpr std::uint64_t kMostSeconds = kMostHours * 3'600;

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    Keys::kRing,
    K::text<&Settings::folder>("folder", "FOLDER", "Folder of the segment files; created if missing."),
    K::bytes<&Settings::segment_bytes>("segment_bytes", "Size of a segment file; a multiple of 64KiB."),
    K::integer<&Settings::roll_seconds, 0, kMostSeconds>("roll_seconds", "N",
                                                         "Age at which a new segment is started; 0 for by size only."),
    K::bytes<&Settings::keep_bytes>("keep_bytes",
                                    "Total size above which the oldest segments are removed; 0 keeps all."),
    K::integer<&Settings::keep_hours, 0, kMostHours>("keep_hours", "N",
                                                     "Age at which segments are removed; 0 keeps all."),
    K::choice<&Settings::sync, kSyncs>("sync", "none|interval|each",
                                       "When events are synced to disk, to survive a crash of the machine."),
    K::integer<&Settings::sync_ms, 1, 60'000>("sync_ms", "N", "Time between syncs for sync = \"interval\"."),
    Keys::kPoll,
    Keys::kPin,
};

MakeSink maker(const Settings& settings) {
    return [settings](const SinkHost& host) {
        return std::make_unique<JournalSink>(
            Options{.name = settings.name,
                    .writer = {.folder = settings.folder,
                               .ring = settings.ring,
                               .segment_bytes = settings.segment_bytes,
                               .roll_after = std::chrono::seconds{settings.roll_seconds},
                               .keep_bytes = settings.keep_bytes,
                               .keep_for = std::chrono::hours{settings.keep_hours},
                               .sync = settings.sync,
                               .sync_interval = std::chrono::milliseconds{settings.sync_ms},
                               .file_mode = host.file_mode}},
            host.say);
    };
}

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "journal"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "every event in segment files"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        constexpr std::uint64_t kUnit = 65'536;
        constexpr std::uint64_t kLeast = 1U << 20U;
        constexpr std::uint64_t kMost = std::uint64_t{32} << 30U;
        if (settings.folder.empty()) throw settings::ConfigError(context.user + ": key 'folder' is missing");
        if (settings.segment_bytes < kLeast || settings.segment_bytes > kMost || settings.segment_bytes % kUnit != 0) {
            throw settings::ConfigError(
                fmt::format("{}: segment_bytes {}: needs a multiple of 64KiB from 1MiB to 32GiB", context.user,
                            settings.segment_bytes));
        }
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        return {{.name = settings.folder, .claim = claim_of(settings.folder), .folder = settings.folder}};
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        return prepare_ring_sink({.basics = static_cast<const SinkBasics&>(settings),
                                  .check = [folder = settings.folder] { need_writable_folder(folder); }},
                                 maker(settings));
    }
    void rescue(const Settings& settings, const SinkHost& host) const override {
        rescue_ring(settings, maker(settings), host);
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::journal
