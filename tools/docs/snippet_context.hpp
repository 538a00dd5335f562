// What the C++ snippets of a page take for granted. tools/docs/check compiles each snippet as the body of a function,
// behind the part of this file that is headed by its page.

//// docs/internals/bench.md
bench::Finding run_limit();
bench::Finding run_decoder();
bench::Finding run_rival();

//// docs/internals/engine.md
struct Order {
    std::string_view id;
    std::string_view symbol;
    int quantity;
};
extern fix::Dictionary dictionary;
extern engine::Application& application;

//// docs/internals/feed.md
extern std::string_view text;
extern std::span<const std::byte> datagram;
extern std::int64_t now;
void log(auto&&...) {}

//// docs/internals/fix.md
extern std::span<const std::byte> bytes;
extern std::size_t done;
extern fix::Dictionary dictionary;
extern std::expected<fix::Message, fix::FrameError> message;
void use(auto&&...) {}

//// docs/internals/journal.md
struct Handler {
    void on(auto&&...) {}
};
extern Handler handler;
extern std::uint64_t last_record_that_i_had;
extern feed::Quote quote;

//// docs/internals/market.md
void idle();
extern feed::Quote quote;

//// docs/internals/memory.md
using namespace memory;
struct Order {
    long id;
    long price;
    long size;
};
extern long id, price, size;
extern queue::SpscRing<Order*> ring;
extern Order* raw;
void log(auto&&...) {}

//// docs/internals/metrics.md
extern metrics::LatencyHistogram wire_to_ring;
extern std::unique_ptr<metrics::HistogramSnapshot> a_second_ago;

//// docs/internals/net.md
extern net::SocketAddress address;
extern std::vector<std::span<const std::byte>> datagrams;
void idle();
void log(auto&&...) {}
void use(auto&&...) {}
void report(auto&&...) {}
void decode(auto&&...) {}

//// docs/internals/queue.md
struct Order {
    long id;
};
using Tick = Order;
extern Order order, next, cancel;
extern Tick tick;
extern std::span<const std::byte> mapped_bytes;
extern queue::PriorityLanes<Order, 4> lanes;
void handle(auto&&...) {}
void send(auto&&...) {}
void fill(auto&&...) {}
void use(auto&&...) {}
void report(auto&&...) {}

//// README.md
struct Handler {
    void on(auto&&...) {}
};
extern Handler handler;
