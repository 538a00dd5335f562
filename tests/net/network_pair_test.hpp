#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/net/network_pair.hpp"

namespace millpond::net::test {

/// Tests between two network namespaces, which run in the near one; skipped if the machine does not allow namespaces.
class NetworkPairTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string why;
        pair_ = NetworkPair::make(why);
        if (pair_ == nullptr) GTEST_SKIP() << why;
    }

    /// Created in the near namespace.
    std::unique_ptr<UdpReceiver> receiver(const ReceiveOptions& options) const {
        pair_->enter_near();
        return std::make_unique<UdpReceiver>(options);
    }

    /// Created in the far namespace.
    std::unique_ptr<UdpSender> sender(const UdpSender::Options& options) const {
        pair_->enter_far();
        auto sender = std::make_unique<UdpSender>(options);
        pair_->enter_near();
        return sender;
    }

    std::unique_ptr<NetworkPair> pair_;
};

}  // namespace millpond::net::test
