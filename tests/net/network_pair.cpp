#include "tests/net/network_pair.hpp"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/net/udp_sender.hpp>

namespace millpond::net::test {
namespace {

core::Descriptor current_namespace() {
    // The command ip inherits it, and gets it by path.
    return core::Descriptor{open("/proc/thread-self/ns/net", O_RDONLY)};  // NOLINT(android-cloexec-open)
}

void enter(const core::Descriptor& space) {
    if (setns(space.get(), CLONE_NEWNET) != 0) throw std::system_error(errno, std::generic_category(), "setns");
}

/// Runs `ip` with these words in the thread's namespace. Returns false if it failed.
bool ip(const std::string& words) {
    std::istringstream in{"ip " + words};
    std::vector<std::string> arguments;
    for (std::string word; in >> word;) arguments.push_back(word);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    if (posix_spawnp(&child, "ip", nullptr, nullptr, argv.data(), environ) != 0) return false;
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool has_ipv6(const char* interface) {
    const UdpSender::Options probe{.to = SocketAddress::parse("[ff15::1]:9"), .interface = interface};
    const auto deadline = core::monotonic_nanos() + 10'000'000'000;
    while (core::monotonic_nanos() < deadline) {
        try {
            const UdpSender sender{probe};
            return true;
        } catch (const SocketError&) {
            std::this_thread::yield();
        }
    }
    return false;
}

}  // namespace

std::unique_ptr<NetworkPair> NetworkPair::make(std::string& why) {
    auto pair = std::make_unique<NetworkPair>();
    pair->home_ = current_namespace();
    if (unshare(CLONE_NEWNET) != 0) {
        why = "no network namespace of our own (root needed): " + std::generic_category().message(errno);
        return nullptr;
    }
    pair->near_ = current_namespace();
    if (unshare(CLONE_NEWNET) != 0) {
        why = "no second network namespace: " + std::generic_category().message(errno);
        return nullptr;
    }
    pair->far_ = current_namespace();
    const bool far_ready = ip("link set lo up");
    pair->enter_near();
    if (!far_ready || !ip("link set lo up") || !pair->make_link()) {
        why = "the command ip could not make a pair of virtual interfaces";
        return nullptr;
    }
    return pair;
}

bool NetworkPair::delete_link() const {
    enter_near();
    return ip("link delete near0");
}

bool NetworkPair::make_link() const {
    enter_near();
    const auto queues = " numrxqueues " + std::to_string(kQueues) + " numtxqueues " + std::to_string(kQueues) + ' ';
    if (!ip("link add near0" + queues + "type veth peer name far0" + queues + "netns /proc/self/fd/" +
            std::to_string(far_.get())) ||
        !ip("address add 10.99.0.1/24 dev near0") || !ip("address add fd99::1/64 dev near0 nodad") ||
        !ip("link set near0 up"))
        return false;
    enter_far();
    const bool far_ready = ip("address add 10.99.0.2/24 dev far0") && ip("address add 10.99.0.3/24 dev far0") &&
                           ip("address add fd99::2/64 dev far0 nodad") && ip("link set far0 up");
    enter_near();
    return far_ready;
}

NetworkPair::~NetworkPair() {
    if (home_) setns(home_.get(), CLONE_NEWNET);
}

bool NetworkPair::wait_for_ipv6() const {
    enter_far();
    const bool far_ready = has_ipv6("far0");
    enter_near();
    return far_ready && has_ipv6("near0");
}

bool NetworkPair::finish_checksums() const {
    enter_far();
    ethtool_value off{.cmd = ETHTOOL_STXCSUM, .data = 0};
    ifreq request{};
    std::string_view{"far0"}.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&off);
    const core::Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const bool done = ioctl(socket.get(), SIOCETHTOOL, &request) == 0;
    enter_near();
    return done;
}

void NetworkPair::enter_near() const { enter(near_); }

void NetworkPair::enter_far() const { enter(far_); }

}  // namespace millpond::net::test
