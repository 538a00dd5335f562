#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/sink.hpp"
#include "service/settings/choices.hpp"
#include "service/settings/key_of.hpp"

namespace millpond::gateway {

inline constexpr std::pair<std::string_view, Delivery> kDeliveries[] = {{"every", Delivery::every},
                                                                        {"conflate", Delivery::conflate}};
inline constexpr std::size_t kMaxNameLength = 32;
inline constexpr std::uint64_t kMaxCpu = 1'023;

/// Keys that several kinds have; each kind lists its own.
template <class Settings>
struct SinkKeys {
    using K = settings::KeyOf<Settings>;
    static constexpr auto kName =
        K::template short_text<&Settings::name, kMaxNameLength>("name", "NAME", "Name in logs, metrics and health.");
    static constexpr auto kRing =
        K::template text<&Settings::ring>("ring", "NAME", "Ring to read; the first ring if unset.");
    static constexpr auto kPoll = K::template choice<&Settings::poll, settings::kPolls>(
        "poll", "spin|block|adaptive",
        "How it waits for the ring: busy-wait, sleep, or busy-wait briefly and then sleep.");
    static constexpr auto kPin =
        K::template integer<&Settings::pin, 0, kMaxCpu>("pin", "CPU", "CPU to bind its thread to; any CPU if unset.");
};

/// Gives a kind the type of its settings. A kind derives from it and defines:
///
///     class Kind final : public SinkKindOf<Settings> {
///         std::string_view name() const noexcept override { return "csv"; }
///         std::string_view summary() const noexcept override { return "CSV rows in a rotated file"; }
///         std::span<const settings::Key<Settings>> table() const override { return kKeys; }
///         std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override;
///     };
///
/// Settings: derives from SinkBasics, is equality comparable, and a default-constructed object has the defaults.
template <class Settings>
class SinkKindOf : public SinkKind {
public:
    [[nodiscard]] std::vector<settings::KeyText> keys() const final {
        return settings::texts_of(table(), typed(defaults()));
    }
    [[nodiscard]] std::any defaults() const final {
        Settings settings;
        settings.name = name();
        return settings;
    }
    void assign(std::any& any, std::string_view key, std::string_view where, const settings::Value& value) const final {
        settings::find_key(table(), settings::section_title(name()), key, where)
            .assign(std::any_cast<Settings&>(any), value);
    }
    [[nodiscard]] bool equal(const std::any& left, const std::any& right) const final {
        return typed(left) == typed(right);
    }
    [[nodiscard]] SinkBasics& basics(std::any& any) const final { return std::any_cast<Settings&>(any); }
    void complete(std::any& any, const SinkContext& context) const final {
        complete(std::any_cast<Settings&>(any), context);
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const std::any& any) const final { return outputs(typed(any)); }
    [[nodiscard]] std::uint32_t depth(const std::any& any) const final { return depth(typed(any)); }
    [[nodiscard]] std::string follows(const std::any& any) const final { return follows(typed(any)); }
    [[nodiscard]] std::string exposure(const std::any& any) const final { return exposure(typed(any)); }
    [[nodiscard]] std::vector<std::string> files_read(const std::any& any) const final {
        auto files = settings::files_read(table(), typed(any));
        std::ranges::move(files_of_properties(typed(any)), std::back_inserter(files));
        return files;
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const std::any& any) const final { return prepare(typed(any)); }
    void rescue(const std::any& any, const SinkHost& host) const final { rescue(typed(any), host); }

protected:
    [[nodiscard]] virtual std::span<const settings::Key<Settings>> table() const = 0;
    virtual void complete(Settings&, const SinkContext&) const {}
    [[nodiscard]] virtual std::vector<SinkOutput> outputs(const Settings&) const { return {}; }
    [[nodiscard]] virtual std::uint32_t depth(const Settings&) const { return 0; }
    [[nodiscard]] virtual std::string follows(const Settings&) const { return {}; }
    [[nodiscard]] virtual std::string exposure(const Settings&) const { return {}; }
    /// Files that are read without a key that names them directly.
    [[nodiscard]] virtual std::vector<std::string> files_of_properties(const Settings&) const { return {}; }
    [[nodiscard]] virtual std::unique_ptr<PreparedSink> prepare(const Settings& settings) const = 0;
    virtual void rescue(const Settings&, const SinkHost&) const {}

private:
    static const Settings& typed(const std::any& any) { return std::any_cast<const Settings&>(any); }
};

}  // namespace millpond::gateway
