#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/net/network_pair.hpp"

namespace millpond::gateway::test {

/// Two network namespaces with a filter between them: near for the test's objects, far for its broker.
class NetworkCut {
public:
    static constexpr const char* kBroker = "10.99.0.2";

    /// Null if this machine does not allow it, with the reason in `why` for GTEST_SKIP.
    static std::unique_ptr<NetworkCut> make(std::string& why) {
        auto pair = net::test::NetworkPair::make(why);
        if (!pair) return nullptr;
        auto made = std::unique_ptr<NetworkCut>{new NetworkCut{std::move(pair)}};
        made->begin();
        if (made->is_cut_) {
            made->end();
            if (!made->is_cut_) return made;
        }
        why = "needs nft and the kernel's nf_tables";
        return nullptr;
    }

    void enter_near() const { pair_->enter_near(); }
    void enter_far() const { pair_->enter_far(); }

    /// Drops everything from near to the broker from here on.
    void begin() {
        is_cut_ = in_far(
            "nft add table inet cut && nft add chain inet cut entry "
            "'{ type filter hook input priority 0; policy accept; }' && "
            "nft add rule inet cut entry iifname far0 drop");
    }
    void end() { is_cut_ = !in_far("nft delete table inet cut"); }

private:
    explicit NetworkCut(std::unique_ptr<net::test::NetworkPair> pair) : pair_(std::move(pair)) {}

    [[nodiscard]] bool in_far(const std::string& command) const {
        pair_->enter_far();
        const bool good = std::system((command + " 2>/dev/null").c_str()) == 0;
        pair_->enter_near();
        return good;
    }

    std::unique_ptr<net::test::NetworkPair> pair_;
    bool is_cut_{false};
};

}  // namespace millpond::gateway::test
