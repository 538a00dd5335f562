#include "apps/millpond/doctor/diagnose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

namespace millpond::app::doctor {
namespace {

/// Checks the stages of a datagram's path in order. Each function adds its finding and returns whether to continue.
class Diagnosis {
public:
    explicit Diagnosis(const FeedFacts& facts) : facts_(facts), to_(facts.listen.to_string()) {}

    std::vector<Finding> run() {
        gateway();
        const bool arrives = facts_.connect.empty()
                                 ? link() && membership() && on_the_link() && socket() && buffer() && decoder()
                                 : connection();
        if (arrives) {
            findings_.insert(findings_.end(), facts_.gateway_findings.begin(), facts_.gateway_findings.end());
        }
        return std::move(findings_);
    }

private:
    bool good(std::string stage, std::string what) {
        findings_.push_back({std::move(stage), Level::good, std::move(what), {}});
        return true;
    }
    bool broken(std::string stage, std::string what, std::string fix) {
        findings_.push_back({std::move(stage), Level::bad, std::move(what), std::move(fix)});
        return false;
    }

    /// Checks the gateway's answer. The other stages do not depend on it.
    void gateway() {
        const auto& error = facts_.gateway_error;
        if (!facts_.gateway_queried) return;
        if (error.empty()) {
            good("gateway", "answers");
        } else if (facts_.gateway_runs) {
            broken("gateway", fmt::format("has a socket on the feed's port, but does not report its health: {}", error),
                   "systemctl status millpond; journalctl -u millpond -n 50");
        } else {
            findings_.push_back(
                {"gateway", Level::advice, fmt::format("none runs: {}", error), "systemctl start millpond"});
        }
    }

    bool connection() {
        const auto server = facts_.connect.to_string();
        if (facts_.connection_error.empty())
            return good("connection", fmt::format("{} accepts connections; the login was not tried", server));
        return broken("connection", fmt::format("cannot connect to {}: {}", server, facts_.connection_error),
                      fmt::format("ip route get {}; check connect of feed '{}', the server and firewalls between",
                                  facts_.connect.host(), facts_.feed));
    }

    bool link() {
        const auto& name = facts_.interface;
        if (!facts_.interface_exists) {
            return broken("link", fmt::format("there is no interface '{}'", name),
                          fmt::format("ip link; then correct interface of feed '{}'", facts_.feed));
        }
        if (!facts_.interface_up) {
            return broken("link", fmt::format("interface {} is down", name), fmt::format("ip link set {} up", name));
        }
        if (!facts_.carrier) {
            return broken("link", fmt::format("interface {} has no carrier: cable, transceiver or switch port", name),
                          fmt::format("ethtool {}; check the cable and the switch port", name));
        }
        return good("link", name.empty() ? "any interface" : fmt::format("interface {} is up", name));
    }

    bool membership() {
        if (!facts_.listen.is_multicast()) return true;
        const auto& joined = facts_.joined_on;
        const bool here = facts_.interface.empty() || std::ranges::find(joined, facts_.interface) != joined.end();
        if (facts_.gateway_runs && !joined.empty() && !here) {
            return broken("IGMP",
                          fmt::format("group {} is joined on {}, not on {}", facts_.listen.host(), joined.front(),
                                      facts_.interface),
                          fmt::format("interface = \"{}\" in the [[feed]] '{}', then systemctl restart millpond",
                                      facts_.interface, facts_.feed));
        }
        if (facts_.gateway_runs && joined.empty() && facts_.listen.family() == net::SocketAddress::Family::ipv4) {
            return broken("IGMP", fmt::format("no process has joined group {}", facts_.listen.host()),
                          "systemctl restart millpond");
        }
        return good("IGMP", facts_.gateway_runs ? fmt::format("group joined on {}", fmt::join(joined, ", "))
                                                : "group joined for this check; no gateway is running");
    }

    bool on_the_link() {
        if (!facts_.link_watched) {
            findings_.push_back({"datagrams", Level::advice, "frames cannot be inspected without CAP_NET_RAW",
                                 "run millpond doctor as root"});
            return true;
        }
        if (facts_.on_link != 0 && facts_.vlan != 0) {
            return broken("VLAN", fmt::format("datagrams have VLAN tag {}, and no interface removes it", facts_.vlan),
                          fmt::format("ip link add link {0} name {0}.{1} type vlan id {1} && ip link set {0}.{1} up; "
                                      "interface = \"{0}.{1}\" in the feed",
                                      facts_.interface, facts_.vlan));
        }
        if (facts_.on_link == 0 && facts_.on_other_link != 0) {
            return broken("IGMP",
                          fmt::format("datagrams to {} arrive on {}, but the feed listens on {}", to_,
                                      facts_.other_interface, facts_.interface),
                          fmt::format("interface = \"{}\" in the [[feed]] '{}', then systemctl restart millpond",
                                      facts_.other_interface, facts_.feed));
        }
        if (facts_.on_link == 0) {
            return broken("datagrams",
                          fmt::format("no datagram to {} reached {} in {:.1f} s", to_,
                                      facts_.interface.empty() ? "this machine" : facts_.interface, facts_.seconds),
                          facts_.listen.is_multicast() ? "check: the sender, IGMP snooping and the querier on the "
                                                         "switch, the group in the feed's specification"
                                                       : "check: the sender and its destination address");
        }
        return good("datagrams",
                    fmt::format("{} datagrams on the link from {}", facts_.on_link, facts_.sender.to_string()));
    }

    bool socket() {
        const bool kept_from_gateway = facts_.gateway_received == 0U && facts_.kernel_drops == 0;
        if (!facts_.socket_opened && !kept_from_gateway) {
            return good("socket", facts_.gateway_received
                                      ? fmt::format("{} datagrams at the gateway's socket", *facts_.gateway_received)
                                      : fmt::format("no socket opened next to the gateway's: {}", facts_.socket_error));
        }
        if (facts_.at_socket != 0) return good("socket", fmt::format("{} datagrams at the socket", facts_.at_socket));
        if (!facts_.link_watched) {
            return broken("datagrams", fmt::format("no datagram to {} in {:.1f} s", to_, facts_.seconds),
                          "run millpond doctor as root to inspect the link itself");
        }
        const bool strict = facts_.rp_filter == 1 && facts_.route_to_sender != facts_.interface;
        if (!facts_.interface.empty() && (strict || (facts_.rp_filter == 2 && facts_.route_to_sender.empty()))) {
            return broken(
                "rp_filter",
                fmt::format("replies to {} would {}, so the kernel drops datagrams from there on {}",
                            facts_.sender.host(),
                            facts_.route_to_sender.empty() ? "find no route" : "leave by " + facts_.route_to_sender,
                            facts_.interface),
                fmt::format("sysctl -w net.ipv4.conf.{}.rp_filter=0 net.ipv4.conf.all.rp_filter=0", facts_.interface));
        }
        if (!facts_.dropping_rules.empty()) {
            const auto table = facts_.dropping_rules.front().substr(0, facts_.dropping_rules.front().find(": "));
            auto chain = table;
            if (const auto slash = chain.find(" / "); slash != std::string::npos) chain.replace(slash, 3, " ");
            return broken("firewall", fmt::format("a rule drops them: {}", facts_.dropping_rules.front()),
                          fmt::format("nft insert rule {} udp dport {} accept", chain, facts_.listen.port()));
        }
        return broken(
            "socket", "datagrams are on the link but do not reach a socket",
            "nft list ruleset; iptables-legacy-save; nstat -az | grep -E 'IpInAddrErrors|UdpInCsumErrors|UdpNoPorts'");
    }

    bool buffer() {
        if (facts_.kernel_drops == 0) return good("socket buffer", "no drops");
        return broken("socket buffer",
                      fmt::format("the kernel dropped {} datagrams because sockets were full", facts_.kernel_drops),
                      fmt::format("sysctl -w net.core.rmem_max={}; receive_buffer = {} in the feed",
                                  facts_.receive_buffer * 2, facts_.receive_buffer * 2));
    }

    bool decoder() {
        if (facts_.rejected != 0) {
            return broken("decoder",
                          fmt::format("{} of {} datagrams are not '{}': {}; the first one: {}", facts_.rejected,
                                      facts_.rejected + facts_.decoded, facts_.format, facts_.first_error,
                                      facts_.first_rejected_hex),
                          fmt::format("compare with the feed's specification; format of [[feed]] '{}'", facts_.feed));
        }
        if (facts_.decoded == 0) return good("decoder", "nothing to decode");
        return good("decoder", fmt::format("{} datagrams decoded", facts_.decoded));
    }

    const FeedFacts& facts_;
    std::string to_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> diagnose(const FeedFacts& facts) { return Diagnosis{facts}.run(); }

}  // namespace millpond::app::doctor
