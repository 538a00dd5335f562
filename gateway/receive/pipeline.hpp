#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/market/ring_writer.hpp>
#include <millpond/memory/region_resource.hpp>

#include "gateway/receive/capture.hpp"
#include "gateway/receive/composites.hpp"
#include "gateway/receive/feed.hpp"
#include "gateway/receive/notice.hpp"
#include "gateway/receive/publisher.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway {

/// Bytes of shared memory of the ring and its board, with the depth of its feeds. config: complete.
[[nodiscard]] std::size_t ring_bytes(const RingConfig& ring, const Config& config);

/// A receive thread: receives the datagrams of several feeds, decodes them and publishes to one ring. Independent of
/// the sinks.
///
/// Makes one virtual call for each poll of a feed, which decodes the batch in one loop.
///
/// Threads: start, stop and const functions on any thread but the receive thread; request_books on any; one thread
///          pops notices.
/// Memory:  all allocated in the constructor.
class Pipeline {
public:
    /// Creates the ring and opens the feeds of `config` that publish to it. Throws std::runtime_error that names the
    /// ring or feed and the error. log: logs messages of the capture.
    Pipeline(const RingConfig& ring, const Config& config, service::LogFunction log = {});
    /// Stops; closes the ring and removes its name.
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    /// Starts the thread; returns when it is pinned and has its priority. Throws what core::pin_this_thread and
    /// core::set_realtime throw.
    void start();
    /// Stops reading the sockets. The ring stays open for readers of its remaining entries.
    void stop();

    /// Sets the exchange's day of feeds whose format needs it. Call it regularly, so that a new day is noticed.
    void set_midnights(std::int64_t now_utc_ns);

    /// Makes the feeds publish their books of orders again: Feed::request_books.
    void request_books();

    /// Calls visit(feed) for every feed, in the order of the configuration.
    template <class Visitor>
    void for_each_feed(Visitor&& visitor) const {
        for (const auto& feed : feeds_) visitor(std::as_const(*feed));
    }

    [[nodiscard]] const RingConfig& config() const noexcept { return config_; }
    [[nodiscard]] const market::RingWriter& ring() const noexcept { return writer_; }
    [[nodiscard]] const Publisher& publisher() const noexcept { return publisher_; }
    [[nodiscard]] const feed::InstrumentTable& instruments() const noexcept { return instruments_; }
    [[nodiscard]] Notices& notices() noexcept { return notices_; }
    /// Memory of the feeds' large tables.
    [[nodiscard]] const memory::RegionResource& tables() const noexcept { return tables_; }
    /// The composites; null if there are none.
    [[nodiscard]] const Composites* composites() const noexcept { return composites_.get(); }
    /// The capture; null if raw datagrams are not captured.
    [[nodiscard]] const Capture* capture() const noexcept { return capture_.get(); }

private:
    void open(const FeedConfig& feed, const service::LogFunction& log);
    void open_capture(const Config& config, service::LogFunction log);
    void adopt_names();
    void watch_sockets();
    void run();
    std::size_t receive();
    [[nodiscard]] bool holding() const;
    void beat();

    RingConfig config_;
    market::RingWriter writer_;
    feed::InstrumentTable instruments_;
    Notices notices_;
    Publisher publisher_;
    memory::RegionResource tables_;
    std::vector<std::unique_ptr<Feed>> feeds_;
    std::unique_ptr<Composites> composites_;  // null if the ring has none
    std::unique_ptr<Capture> capture_;
    core::Descriptor epoll_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace millpond::gateway
