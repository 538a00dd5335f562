#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {

/// A folder for stores, and messages of HOUSE: RISK gets copies of the executions for A and others.
class FixDropCopy : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string store(const std::string& name) const {
        return "store = '" + (folder_ / name).string() + ".store'\n";
    }

    [[nodiscard]] static std::string copies(const std::string& sources, const std::string& more = "") {
        return "[[drop_copy]]\ntarget = 'HOUSE->RISK'\nsources = " + sources + "\n" + more;
    }

    /// The configuration with queues of this size.
    [[nodiscard]] static EngineConfig with_queues(const std::string& toml, std::size_t queue_bytes) {
        auto config = RunningEngine::config_of(toml);
        for (auto& copy : config.drop_copies) copy.queue_bytes = queue_bytes;
        return config;
    }

    [[nodiscard]] static std::string order(std::uint64_t number, std::string_view from, std::string_view id) {
        return fix44("D", number, from, "HOUSE",
                     fmt::format("11={}|55=MSFT|54=1|38=1|40=2|44=1|60=20240102-03:04:05|", id));
    }

    /// The received messages, '|' in place of the delimiter.
    [[nodiscard]] static std::vector<std::string> messages_of(std::string text) {
        std::vector<std::string> all;
        for (auto& c : text) c = c == '\x01' ? '|' : c;
        for (std::size_t at = text.find("8=FIX"); at != std::string::npos;) {
            const auto next = text.find("|8=FIX", at + 1);
            all.push_back(text.substr(at, next == std::string::npos ? next : next + 1 - at));
            at = next == std::string::npos ? next : next + 1;
        }
        return all;
    }

    [[nodiscard]] static std::string value_of(const std::string& message, const std::string& tag) {
        const auto at = message.find("|" + tag + "=");
        if (at == std::string::npos) return "";
        const auto begin = at + tag.size() + 2;
        return message.substr(begin, message.find('|', begin) - begin);
    }

    [[nodiscard]] static std::vector<std::string> executions(engine::RawClient& client) {
        std::vector<std::string> all;
        for (const auto& message : messages_of(client.received())) {
            if (value_of(message, "35") == "8") all.push_back(message);
        }
        return all;
    }

    [[nodiscard]] static engine::DropCopy::Status account(RunningEngine& house) {
        for (const auto& session : house.engine().drop_copies()) return session.status;
        return {};
    }

    static void expect_balanced(const engine::DropCopy::Status& status) {
        EXPECT_EQ(status.offered + status.recovered, status.mirrored + status.queue_full + status.store_full +
                                                         status.not_encoded + status.wrong_version + status.abandoned +
                                                         status.waiting);
    }

    std::filesystem::path folder_{::testing::TempDir() + test::scratch_name("fix_drop_copy")};
};

}  // namespace millpond::fixd
