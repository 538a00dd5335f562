// Measured:     from before the send call of a bbo28 datagram on loopback until a client has read its JSON line, over
//               a WebSocket and over plain TCP. The client sleeps in its read call; sender and client are one thread,
//               all threads go where the kernel puts them.
// Not measured: a burst, several clients, connecting, a browser.
#include <cstdint>

#include "bench/gateway/one_way.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/gateway/web_socket.hpp"
#include "bench/harness/compare.hpp"

namespace {

using namespace millpond;

class WebSinkPath {
public:
    [[nodiscard]] std::uint16_t feed_port() const { return gateway_.feed_port(); }
    [[nodiscard]] bench::WebSocket& client() { return client_; }

private:
    bench::RunningGateway gateway_{
        {.receive_core = bench::two_cores().second, .poll = core::Poll::adaptive, .web = true}};
    bench::WebSocket client_{gateway_.web_address().port()};
};

}  // namespace

int main() {
    bench::compare(
        {.question = "How long from the wire to a WebSocket client?",
         .unit = "us",
         .measured = "from before the send call of a bbo28 datagram on loopback until a client that sleeps in its read "
                     "call has the JSON line; threads run where the kernel puts them",
         .not_measured = "a burst, several clients, connecting, a browser"},
        {{"tcp sink, a TCP client", bench::one_way<bench::TcpSinkPath>},
         {"web sink, a WebSocket client", bench::one_way<WebSinkPath>}});
}
