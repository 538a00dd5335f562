// Every file in examples/venues against a peer that checks the Logon with other libraries, over TLS.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "tests/fixd/running_engine.hpp"
#include "tests/support/certificates.hpp"

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::filesystem::path kExamples{MILLPOND_VENUE_EXAMPLES};

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

std::vector<std::string> venues() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{kExamples}) names.push_back(entry.path().stem());
    std::ranges::sort(names);
    return names;
}

/// venue_peer.py, which has its own timeouts.
class Venue {
public:
    explicit Venue(const std::string& command) : output_(::popen(command.c_str(), "r")) {}
    ~Venue() {
        while (!line().empty()) {
        }
        ::pclose(output_);
    }
    Venue(const Venue&) = delete;
    Venue& operator=(const Venue&) = delete;

    /// The next line; empty at the end.
    [[nodiscard]] std::string line() {
        std::array<char, 4096> text{};
        return std::fgets(text.data(), text.size(), output_) == nullptr ? std::string{} : text.data();
    }

private:
    std::FILE* output_;
};

class VenueExample : public ::testing::TestWithParam<std::string> {
protected:
    // In base64, which some venues require.
    static constexpr const char* kHidden = "aGlkZGVuIHNlY3JldCBoaWRkZW4gc2VjcmV0";
    static constexpr const char* kOther = "b3RoZXI=";

    static const test::Certificates& certificates() {
        static const test::Certificates kMade;
        return kMade;
    }
    void SetUp() override {
        if (!certificates().made()) GTEST_SKIP() << "the program openssl is missing";
        for (const auto* side : {"venue", "desk"}) std::filesystem::create_directories(folder_ / side);
        example_ = text_of(kExamples / (GetParam() + ".toml"));
        const std::regex place{"/etc/millpond/([a-z.-]+)"};
        for (std::sregex_iterator at{example_.begin(), example_.end(), place}; at != std::sregex_iterator{}; ++at) {
            write_secret("venue", (*at)[1], kHidden);
            std::filesystem::copy(folder_ / "venue" / (*at)[1].str(), folder_ / "desk");
        }
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void write_secret(const std::string& side, const std::string& name, const char* secret) const {
        const auto path = folder_ / side / name;
        if (name.ends_with(".pem")) {
            const std::string kind = name == "binance.pem" ? "ed25519" : "RSA -pkeyopt rsa_keygen_bits:2048";
            const auto command = "openssl genpkey -algorithm " + kind + " -out '" + path.string() + "' 2>/dev/null";
            ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe): no other thread runs
        } else {
            std::ofstream{path} << secret << "\n";
        }
        std::filesystem::permissions(path, std::filesystem::perms{0600});
    }
    /// Starts the peer. Returns the example with the peer instead of the venue.
    [[nodiscard]] std::unique_ptr<Venue> start_venue(const std::string& who) {
        auto venue =
            std::make_unique<Venue>("python3 '" MILLPOND_VENUE_PEER "' " + GetParam() + " '" +
                                    certificates().certificate(who) + "' '" + certificates().key(who) + "' " +
                                    test::Certificates::kServerName + " '" + (folder_ / "venue").string() + "'");
        const auto line = venue->line();
        EXPECT_THAT(line, StartsWith("port "));
        const auto port = line.substr(5, line.size() - 6);
        auto text = std::regex_replace(example_, std::regex{"/etc/millpond/"}, (folder_ / "desk/").string());
        text = std::regex_replace(text, std::regex{"hosts = [^\n]*"},
                                  "hosts = [\"127.0.0.1:" + port + "\"]\ntls_server_name = \"" +
                                      test::Certificates::kServerName + "\"\ntls_authorities = \"" +
                                      certificates().certificate("ours") + "\"");
        // A schedule would make the result depend on the time of the test.
        text = std::regex_replace(text, std::regex{"\n(start|end|days|timezone) = [^\n]*"}, "");
        text = "raw_log = \"" + (folder_ / "raw.log").string() + "\"\n" + text;
        read_engine_toml(text, GetParam() + ".toml", config_);
        complete(config_);
        return venue;
    }
    /// Runs the engine until `done()`, then logs out.
    template <class Done>
    void run(Done&& done) {
        service::Log log{service::Severity::debug, service::LogFormat::text, [this](const std::string& line) {
                             const std::lock_guard guard{log_lock_};
                             log_ += line + "\n";
                         }};
        FixEngine engine{
            config_, [&](const SessionSettings&, const fix::Dictionary*) { return std::make_unique<Counting>(desk_); },
            log};
        engine.start();
        EXPECT_TRUE(comes_true(done));
        EXPECT_TRUE(engine.drain(std::chrono::seconds{20}));
    }
    [[nodiscard]] std::string raw_log() const { return text_of(folder_ / "raw.log"); }
    /// The values of secret fields in sent messages.
    [[nodiscard]] std::vector<std::string> secret_values() const {
        const auto text = raw_log();
        const std::regex field{"\x01(?:96|554|925)=([^\x01]*)\x01"};
        std::vector<std::string> values;
        for (std::sregex_iterator at{text.begin(), text.end(), field}; at != std::sregex_iterator{}; ++at) {
            values.push_back((*at)[1]);
        }
        return values;
    }

    std::filesystem::path folder_{std::filesystem::temp_directory_path() /
                                  ("millpond_venue_" + std::to_string(::getpid()))};
    std::string example_;
    EngineConfig config_;
    Counts desk_;
    std::mutex log_lock_;
    std::string log_;
};

TEST_P(VenueExample, LogsOnAndShowsNoSecret) {
    const auto venue = start_venue("ours-server");
    run([&] { return desk_.logons.load() != 0; });
    EXPECT_THAT(venue->line(), StartsWith("accepted ")) << log_;
    EXPECT_EQ(venue->line(), "");
    EXPECT_THAT(raw_log(), HasSubstr("\x01"
                                     "35=A\x01"));
    EXPECT_THAT(raw_log(), HasSubstr("\x01"
                                     "35=5\x01"));
    EXPECT_EQ(secret_values().empty(), GetParam() == "broker_sub_id");
    for (const auto& value : secret_values()) EXPECT_EQ(value, std::string(value.size(), '*'));
    EXPECT_THAT(log_, Not(HasSubstr(kHidden)));
}

TEST_P(VenueExample, SendsNothingToAServerWithAnotherCertificate) {
    const auto venue = start_venue("others-server");
    run([&] { return desk_.closed.load() != 0; });
    EXPECT_THAT(venue->line(), StartsWith("handshake failed"));
    EXPECT_EQ(desk_.logons.load(), 0);
    EXPECT_THAT(log_, HasSubstr("certificate")) << log_;
    EXPECT_THAT(log_, Not(HasSubstr(kHidden)));
}

/// Examples with a secret.
class SecretVenueExample : public VenueExample {};

TEST_P(SecretVenueExample, ASignatureWithAnotherKeyIsReportedAsTheVenuesRefusal) {
    for (const auto& entry : std::filesystem::directory_iterator{folder_ / "desk"}) {
        const auto name = entry.path().filename().string();
        const bool is_key = name.ends_with(".pem") || name.ends_with(".secret") || name == "broker.password";
        if (is_key) write_secret("desk", name, kOther);
    }
    const auto venue = start_venue("ours-server");
    run([&] { return desk_.closed.load() != 0; });
    EXPECT_EQ(venue->line(), "refused: invalid signature\n");
    EXPECT_EQ(desk_.logons.load(), 0);
    EXPECT_THAT(log_, HasSubstr("invalid signature"));
}

std::vector<std::string> venues_with_a_secret() {
    auto names = venues();
    std::erase(names, "broker_sub_id");
    return names;
}

INSTANTIATE_TEST_SUITE_P(All, VenueExample, ::testing::ValuesIn(venues()),
                         [](const auto& example) { return example.param; });
INSTANTIATE_TEST_SUITE_P(All, SecretVenueExample, ::testing::ValuesIn(venues_with_a_secret()),
                         [](const auto& example) { return example.param; });

}  // namespace
}  // namespace millpond::fixd
