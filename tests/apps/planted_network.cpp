#include "tests/apps/planted_network.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stop_token>
#include <utility>

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/apps/http_page.hpp"

namespace millpond::app {
namespace {

constexpr useconds_t kPauseUs = 5'000;  // between two datagrams or two checks

/// A datagram from 10.42.0.2 to 10.42.0.1, port 14000, in an Ethernet frame with the tag of VLAN 42.
constexpr std::array<unsigned char, 50> kTagged{
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, 0, 0,  0,  0, 1,                              // to all
    0x81, 0x00, 0x00, 42,   0x08, 0x00,                                                     // 802.1Q, IPv4
    0x45, 0,    0,    32,   0,    0,    0x40, 0, 64, 17, 0, 0, 10, 42, 0, 2, 10, 42, 0, 1,  // UDP
    0x10, 0x00, 0x36, 0xB0, 0,    12,   0,    0, 1,  2,  3, 4};                             // 4096 to 14000, 4 bytes

}  // namespace

bool PlantedNetwork::shell(const std::string& command) {
    return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0;
}

std::string PlantedNetwork::output_of(const std::string& command) {
    std::string text;
    FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
    if (pipe == nullptr) return text;
    std::array<char, 4'096> buffer{};
    for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
        text.append(buffer.data(), got);
    pclose(pipe);
    return text;
}

void PlantedNetwork::SetUp() {
    std::string why;
    pair_ = net::test::NetworkPair::make(why);
    if (!pair_) GTEST_SKIP() << why;
    const int probe = socket(AF_PACKET, SOCK_RAW, 0);
    if (probe < 0) GTEST_SKIP() << "this machine allows no packet sockets";
    close(probe);
    ASSERT_TRUE(shell("ip route add 239.0.0.0/8 dev near0"));
    config_ =
        (std::filesystem::temp_directory_path() / ("millpond-planted-" + std::to_string(getpid()) + ".toml")).string();
}

void PlantedNetwork::TearDown() {
    std::filesystem::remove(config_);
    // Removes rings of killed gateways.
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
        if (entry.path().filename().string().starts_with("millpond." + ring_)) std::filesystem::remove(entry);
    }
}

void PlantedNetwork::configure(const std::string& listen, const std::string& interface, const std::string& feed_more,
                               const std::string& more) const {
    std::ofstream{config_} << "[[ring]]\nname = '" << ring_ << "'\nhuge_pages = 'none'\n"
                           << "[[feed]]\nname = 'f'\nformat = 'quotes'\nlisten = '" << listen << "'\n"
                           << (interface.empty() ? "" : "interface = '" + interface + "'\n") << "stale_seconds = 1\n"
                           << feed_more << more;
}

std::unique_ptr<Program> PlantedNetwork::send(const std::string& to, const std::string& format,
                                              std::vector<std::string> more) const {
    pair_->enter_far();
    std::vector<std::string> words{"generate", "--format", format, "--rate", "500", "--to", to, "--live"};
    if (to.starts_with("239.")) words.insert(words.end(), {"--interface", "far0"});
    words.insert(words.end(), more.begin(), more.end());
    auto sender = std::make_unique<Program>(words);
    pair_->enter_near();
    return sender;
}

std::jthread PlantedNetwork::send_quotes_with(std::uint16_t flags, const std::string& to) const {
    pair_->enter_far();
    auto sender = std::make_unique<net::UdpSender>(net::UdpSender::Options{.to = net::SocketAddress::parse(to)});
    pair_->enter_near();
    return std::jthread{[flags, sender = std::move(sender)](const std::stop_token& over) {
        feed::QuotesEncoder encoder{{.channel = 0, .session = 1}};
        std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
        while (!over.stop_requested()) {
            encoder.begin(buffer);
            const feed::Quote quote{.instrument = 0,
                                    .flags = flags,
                                    .bid_price = feed::kPriceScale,
                                    .ask_price = feed::price_from<100>(101),
                                    .bid_size = 1};
            static_cast<void>(encoder.add(quote, feed::Venue{"X"}, feed::Symbol{"AAPL"}));  // one quote always fits
            static_cast<void>(sender->send(encoder.finish(core::utc_nanos())));
            usleep(kPauseUs);
        }
    }};
}

std::jthread PlantedNetwork::send_tagged() const {
    pair_->enter_far();
    const int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(if_nametoindex("far0"));
    pair_->enter_near();
    return std::jthread{[socket, to](const std::stop_token& over) {
        while (!over.stop_requested()) {
            sendto(socket, kTagged.data(), kTagged.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
            usleep(kPauseUs);
        }
        close(socket);
    }};
}

void PlantedNetwork::add_other_link() {
    ASSERT_TRUE(
        shell("ip link add other0 type veth peer name other1 && ip link set other1 up && ip link set other0 up && "
              "ip address add 10.77.0.1/24 dev other0"));
}

bool PlantedNetwork::drop_by_nft() {
    return shell(
        "nft add table inet guard && nft add chain inet guard entry "
        "'{ type filter hook input priority 0; policy accept; }' && nft add rule inet guard entry udp dport 14000 "
        "drop");
}

std::unique_ptr<Program> PlantedNetwork::start_gateway() const {
    auto gateway = std::make_unique<Program>(std::vector<std::string>{"gateway", "--config", config_, "--quiet"});
    EXPECT_TRUE(gateway->prints("metrics: http://")) << gateway->wait(std::chrono::seconds{0}).err;
    return gateway;
}

Outcome PlantedNetwork::ask_doctor(const std::string& patience) const {
    return run({"doctor", "--config", config_, "--feed", "f", "--seconds", patience, "--format", "json"});
}

std::string PlantedNetwork::health_with(const std::string& text) {
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    std::string shown;
    while (shown.find(text) == std::string::npos && core::monotonic_nanos() < deadline) {
        shown = page_of(kHealthPort, "/health");
        usleep(kPauseUs);
    }
    return shown;
}

void PlantedNetwork::wait_for_count(const std::string& metric) {
    const std::regex some{"\n" + metric + " [1-9]"};
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (!std::regex_search(page_of(kHealthPort, "/metrics"), some)) {
        ASSERT_LT(core::monotonic_nanos(), deadline);
        usleep(kPauseUs);
    }
}

}  // namespace millpond::app
