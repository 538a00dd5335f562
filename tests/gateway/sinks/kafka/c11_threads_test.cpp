// ThreadSanitizer and callbacks on librdkafka's threads, with tests/support/c11_threads.cpp.
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <fcntl.h>
#include <poll.h>
#include <threads.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>

#include "tests/gateway/sinks/kafka/kafka_cluster.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::gateway {
namespace {

using millpond::test::ChildProcess;

constexpr int kFoundARace = 66;  // ThreadSanitizer's default
constexpr int kLines = 100;

int lines = 0;
mtx_t mutex;
std::atomic<int> seen{0};  // relaxed: orders nothing

void count() {
    ++lines;
    seen.fetch_add(1, std::memory_order_relaxed);
}
void count_in_turn() {
    mtx_lock(&mutex);
    count();
    mtx_unlock(&mutex);
}

/// A producer without a broker, which calls Count on its threads while the test calls it too.
template <void (*Count)()>
int count_on_its_threads() {
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    mtx_init(&mutex, mtx_plain);
    auto* conf = rd_kafka_conf_new();
    std::array<char, 512> text{};
    rd_kafka_conf_set(conf, "bootstrap.servers", "127.0.0.1:9", text.data(), text.size());
    rd_kafka_conf_set(conf, "debug", "all", text.data(), text.size());
    rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) { Count(); });
    const test::KafkaHandle handle{rd_kafka_new(RD_KAFKA_PRODUCER, conf, text.data(), text.size())};
    while (seen.load(std::memory_order_relaxed) < kLines) {
        Count();
        ::poll(nullptr, 0, 1);
    }
    return 0;
}

TEST(C11Threads, ARaceWithAThreadOfLibrdkafkaIsFound) {
    ChildProcess racing{count_on_its_threads<count>};
    EXPECT_EQ(racing.wait_for_end(), kFoundARace);
}

TEST(C11Threads, WhatItsThreadsDoUnderAMutexOfC11IsNoRace) {
    ChildProcess ordered{count_on_its_threads<count_in_turn>};
    EXPECT_EQ(ordered.wait_for_end(), 0);
}

}  // namespace
}  // namespace millpond::gateway
