#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "gateway/sinks/csv/csv_sink.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "service/config_error.hpp"
#include "service/writable_folder.hpp"

namespace millpond::gateway::csv {
namespace {

using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    Keys::kRing,
    K::text<&Settings::path>(
        "path", "FILE", "File of the quotes. A full file, and each session's file, is renamed to FILE.1, FILE.2, ...")
        .required("quotes.csv"),
    K::choice<&Settings::mode, kDeliveries>(
        "mode", "every|conflate", "Write every event, or the newest quote of each instrument once per flush."),
    K::bytes<&Settings::rotate_bytes>("rotate_bytes", "Size at which the file is renamed."),
    K::integer<&Settings::keep, 0, 1'000'000>("keep", "N", "Number of renamed files to keep; 0 keeps all."),
    K::duration<&Settings::flush, std::chrono::milliseconds, 1, 60'000>("flush_ms",
                                                                        "Longest time that rows wait in memory."),
    K::removed("poll", "block"),
    K::removed("pin", "any CPU"),
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "csv"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "CSV rows in a rotated file"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        if (settings.path.empty()) throw service::ConfigError(context.user + ": key 'path' is missing");
        try {
            check_path(settings.path);
        } catch (const std::invalid_argument& error) {
            throw service::ConfigError(context.user + ": " + error.what());
        }
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        std::vector<SinkOutput> outputs{
            {.name = settings.path, .claim = claim_of(settings.path), .file = settings.path, .keys = {"path"}}};
        if (settings.mode != Delivery::every) return outputs;
        for (const auto& path : paths_beside(settings.path)) {
            outputs.push_back({.name = path, .claim = claim_of(path), .keys = {"path", "mode"}});
        }
        return outputs;
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        const auto check = [path = std::filesystem::path{settings.path}] {
            if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) return;  // a pipe
            const auto folder = path.has_parent_path() ? path.parent_path() : ".";
            if (!std::filesystem::exists(folder)) {
                throw std::system_error(ENOENT, std::generic_category(),
                                        fmt::format("path '{}': folder '{}'", path.string(), folder.string()));
            }
            service::need_writable_folder(folder);
        };
        return prepare_ring_sink(
            {.basics = static_cast<const SinkBasics&>(settings), .holds = settings.flush, .check = check},
            [settings](const SinkHost& host) { return std::make_unique<CsvSink>(settings, host.file_mode, host.log); });
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::csv
