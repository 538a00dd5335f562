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
#include "service/config_error.hpp"
#include "service/writable_folder.hpp"

namespace millpond::gateway::journal {
namespace {

using millpond::journal::Sync;
using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr std::pair<std::string_view, Sync> kSyncs[] = {
    {"none", Sync::none}, {"interval", Sync::interval}, {"each", Sync::each}};
constexpr std::uint64_t kMaxHours = 24ULL * 366 * 100;
constexpr std::uint64_t kMaxSeconds = kMaxHours * 3'600;

/// Value::bytes refuses 0.
bool is_zero(const settings::Value& value) {
    try {
        return value.integer(0, 0) == 0;
    } catch (const service::ConfigError&) {
        return false;
    }
}

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    Keys::kRing,
    K::text<[](auto& s) -> auto& { return s.writer.folder; }>("folder", "FOLDER",
                                                              "Folder of the segment files; created if missing.")
        .required("journal"),
    K::bytes<[](auto& s) -> auto& { return s.writer.segment_bytes; }>("segment_bytes",
                                                                      "Size of a segment file; a multiple of 64KiB."),
    K::duration<[](auto& s) -> auto& { return s.writer.roll_after; }, std::chrono::seconds, 0, kMaxSeconds>(
        "roll_seconds", "Age at which a new segment is started; 0 for by size only."),
    {"keep_bytes", "BYTES", "Total size above which the oldest segments are removed; 0 keeps all.",
     [](Settings& s, const settings::Value& v) { s.writer.keep_bytes = is_zero(v) ? 0 : v.bytes(); },
     [](const Settings& s) { return settings::bytes_text(s.writer.keep_bytes); }},
    K::duration<[](auto& s) -> auto& { return s.writer.keep_for; }, std::chrono::hours, 0, kMaxHours>(
        "keep_hours", "Age at which segments are removed; 0 keeps all."),
    K::duration<[](auto& s) -> auto& { return s.writer.checkpoint_interval; }, std::chrono::seconds, 0, kMaxSeconds>(
        "checkpoint_seconds",
        "Interval of the checkpoints of order books and levels, with which readers begin; 0 for none."),
    K::choice<[](auto& s) -> auto& { return s.writer.sync; }, kSyncs>(
        "sync", "none|interval|each", "When events are synced to disk, to survive a crash of the machine."),
    Keys::kPin,
    K::removed("poll", "adaptive"),
    K::removed("sync_ms", "1 s"),
};

MakeSink maker(const Settings& settings) {
    return [settings](const SinkHost& host) {
        auto writer = settings.writer;
        writer.ring = settings.ring;
        writer.file_mode = host.file_mode;
        return std::make_unique<JournalSink>(settings.name, std::move(writer), host.log);
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
        constexpr std::uint64_t kMin = 1U << 20U;
        constexpr std::uint64_t kMax = std::uint64_t{32} << 30U;
        const auto& writer = settings.writer;
        if (writer.folder.empty()) throw service::ConfigError(context.user + ": key 'folder' is missing");
        if (writer.segment_bytes < kMin || writer.segment_bytes > kMax || writer.segment_bytes % kUnit != 0) {
            throw service::ConfigError(fmt::format("{}: segment_bytes {}: needs a multiple of 64KiB from 1MiB to 32GiB",
                                                   context.user, writer.segment_bytes));
        }
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        const auto& folder = settings.writer.folder;
        return {{.name = folder, .claim = claim_of(folder), .folder = folder, .keys = {"folder"}}};
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        return prepare_ring_sink(
            {.basics = static_cast<const SinkBasics&>(settings),
             .check = [folder = settings.writer.folder] { service::need_writable_folder(folder); }},
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
