#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/metrics/registry.hpp>

#include "gateway/health/state.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/sinks/consumer.hpp"
#include "service/http/page.hpp"

namespace millpond::gateway {

/// The gateway's pages: /metrics, /health and /api/health.
///
/// Threads: page on any; the rest on one at a time.
class MetricsPage {
public:
    using Health = std::function<std::shared_ptr<const health::State>()>;

    /// health: the newest state; called on any thread.
    explicit MetricsPage(Health health);

    void add(const Pipeline& pipeline);
    void add(const Consumer& sink);
    /// Removes the sink's metrics; they are not read after this returns.
    void remove(const Consumer& sink);

    [[nodiscard]] http::Page page(const http::Request& request) const;

private:
    void add_feed(const Feed& feed);
    void add_composite(const Pipeline& pipeline, const Composites::One& one);

    Health health_;
    mutable std::mutex writing_;      // protects the /metrics page
    mutable std::uint64_t pages_{0};  // number of /metrics pages served
    metrics::Registry registry_;
    std::vector<metrics::Registration> listed_;
    std::map<const Consumer*, std::vector<metrics::Registration>> of_sinks_;
};

}  // namespace millpond::gateway
