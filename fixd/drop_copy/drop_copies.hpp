#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/drop_copy.hpp>
#include <millpond/metrics/registry.hpp>

#include "fixd/drop_copy/copy_routes.hpp"
#include "fixd/settings/drop_copy_settings.hpp"
#include "service/log.hpp"

namespace millpond::fixd {

/// The drop copies of an engine: which sessions are copied to which, and their counters.
///
/// Threads: reports, watch and settle on any; the rest on one at a time.
class DropCopies {
public:
    struct Entry {
        DropCopyConfig config;
        std::shared_ptr<engine::DropCopy> copy;
        std::vector<metrics::Registration> registrations;
        const engine::SessionHandle* attached{nullptr};
        std::uint64_t lost_logged{0};
    };
    using Entries = std::vector<std::shared_ptr<Entry>>;
    struct Report {
        DropCopyConfig config;
        engine::DropCopy::Status status;
    };
    /// A session by its name; a null handle if there is none.
    struct Target {
        engine::SessionHandle* session{nullptr};
        engine::DropCopy::Terms terms{};
    };
    using FindTarget = std::function<Target(const DropCopyConfig&)>;

    /// producers: I/O threads.
    DropCopies(std::size_t producers, metrics::Registry& registry, service::Log& log)
        : producers_(producers), registry_(&registry), log_(&log) {}

    /// Entries for this configuration: the existing ones if they do not change, otherwise new ones. Throws
    /// std::bad_alloc.
    [[nodiscard]] Entries prepare(const std::vector<DropCopyConfig>& configs) const;
    /// Replaces the entries. Returns the former ones, which continue until `finish`.
    [[nodiscard]] Entries replace(Entries next);
    /// The routes of a session, or of a template.
    [[nodiscard]] std::vector<CopyRoutes::Route> routes_of(std::string_view session) const;
    /// Ends the entries of `former` that no longer exist, once their queues are empty, and logs their counters. Returns
    /// a sentence for each change.
    [[nodiscard]] std::vector<std::string> finish(const Entries& former);
    /// Attaches all entries that are not attached.
    void attach(const FindTarget& find);
    /// Detaches from a session that is about to be removed.
    void release(const engine::SessionHandle& session);
    /// Detaches the entries that copy from any of these sessions: the next `attach` reads their new dictionaries.
    void release_copies_of(const std::vector<std::string>& sources);
    /// Waits up to a second until all queues are empty.
    void settle() const;
    void release_all();

    [[nodiscard]] std::vector<Report> reports() const;
    /// Logs what was lost since the last call.
    void watch();

private:
    static void settle(const Entries& entries);
    void log_recovered(const Entry& entry) const;

    std::size_t producers_;
    metrics::Registry* registry_;
    service::Log* log_;
    mutable std::mutex lock_;
    Entries entries_;
};

}  // namespace millpond::fixd
