// Constructors that run out of file descriptors leave none open.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include <unistd.h>

#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/receive/capture.hpp"
#include "gateway/sinks/csv/csv_sink.hpp"
#include "gateway/sinks/journal/journal_sink.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/tcp/tcp_sink.hpp"
#include "gateway/sinks/web/web_sink.hpp"
#include "service/http/server.hpp"
#include "tests/support/descriptor_limit.hpp"

namespace millpond::gateway {
namespace {

using millpond::test::failures_without_leak;

class Descriptors : public millpond::test::Descriptors {
protected:
    Descriptors() { std::filesystem::create_directories(folder_); }
    ~Descriptors() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_{std::filesystem::path{::testing::TempDir()} /
                                  ("millpond_descriptors_" + std::to_string(getpid()))};
    service::LogFunction log_{[](service::Severity, std::string_view, const std::string&) {}};
    template <class Settings>
    [[nodiscard]] Settings listening() const {
        Settings settings;
        settings.listen = any_;
        return settings;
    }
    net::SocketAddress any_{net::SocketAddress::parse("127.0.0.1:0")};
};

TEST_F(Descriptors, OfATcpSink) {
    EXPECT_GE(failures_without_leak([&] { const tcp::TcpSink sink{listening<tcp::Settings>(), {}, log_}; }), 2);
}

TEST_F(Descriptors, OfAWebSink) {
    EXPECT_GE(failures_without_leak([&] {
                  const web::WebSink sink{
                      listening<web::Settings>(), {}, [](const http::Request&) { return http::Page{}; }, log_};
              }),
              2);
}

TEST_F(Descriptors, OfAnHttpServer) {
    EXPECT_GE(failures_without_leak([&] {
                  const http::Server server{{.name = "metrics", .listen = any_},
                                            [](const http::Request&) { return http::Page{}; }};
              }),
              2);
}

TEST_F(Descriptors, OfACsvSinkAJournalAndACapture) {
    csv::Settings csv;
    csv.path = folder_ / "quotes.csv";
    EXPECT_GE(failures_without_leak([&] { const csv::CsvSink sink{csv, core::kFileMode, log_}; }), 1);
    EXPECT_GE(failures_without_leak([&] {
                  const journal::JournalSink sink{
                      "journal", {.folder = folder_ / "journal", .ring = "r", .segment_bytes = 1U << 20U}, log_};
              }),
              2);
    EXPECT_GE(
        failures_without_leak([&] { const Capture capture{{.folder = folder_ / "capture", .name = "r"}, {}, log_}; }),
        1);
}

TEST_F(Descriptors, OfAnMqttSink) {
    if (!mqtt::is_built()) GTEST_SKIP() << "built without libmosquitto";
    mqtt::Settings settings;
    settings.port = 9;
    settings.state_topic = "state";
    EXPECT_GE(failures_without_leak([&] { static_cast<void>(mqtt::open(settings, {}, log_)); }), 1);
}

TEST_F(Descriptors, OfUdpSockets) {
    EXPECT_GE(failures_without_leak([&] { const net::UdpReceiver receiver{{.local = any_}}; }), 1);
    EXPECT_GE(
        failures_without_leak([&] { const net::UdpSender sender{{.to = net::SocketAddress::parse("127.0.0.1:9")}}; }),
        1);
}

}  // namespace
}  // namespace millpond::gateway
