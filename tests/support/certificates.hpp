#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace millpond::test {

/// Two authorities, each with a certificate for a server named house.example and one for a client, made by openssl.
class Certificates {
public:
    static constexpr const char* kServerName = "house.example";

    Certificates()
        : folder_(std::filesystem::temp_directory_path() / ("millpond_certificates_" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
        for (const auto* authority : {"ours", "others"}) {
            made_ = made_ && openssl(
                                 "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
                                 "/CN=authority -keyout {}.key -out {}.pem",
                                 authority);
            for (const auto* who : {"server", "client"}) {
                const auto name = std::string{authority} + "-" + who;
                std::ofstream{folder_ / (name + ".ext")} << "subjectAltName=DNS:house.example,URI:urn:example:" << name
                                                         << ",email:" << who << "@house.example\n";
                made_ = made_ && openssl(
                                     "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=party "
                                     "-keyout {}.key -out {}.csr",
                                     name);
                made_ = made_ && openssl("x509 -req -days 2 -in {}.csr -CA " + std::string{authority} + ".pem -CAkey " +
                                             authority + ".key -CAcreateserial -extfile {}.ext -out {}.pem",
                                         name);
            }
        }
    }
    ~Certificates() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    Certificates(const Certificates&) = delete;
    Certificates& operator=(const Certificates&) = delete;

    /// Returns false if the program openssl is missing.
    [[nodiscard]] bool made() const { return made_; }
    /// The PEM files of "ours" and "others", and of "ours-server", "ours-client", "others-server", "others-client".
    [[nodiscard]] std::string certificate(const std::string& who) const { return folder_ / (who + ".pem"); }
    [[nodiscard]] std::string key(const std::string& who) const { return folder_ / (who + ".key"); }

private:
    [[nodiscard]] bool openssl(std::string arguments, const std::string& name) const {
        for (auto at = arguments.find("{}"); at != std::string::npos; at = arguments.find("{}")) {
            arguments.replace(at, 2, name);
        }
        const auto command = "cd '" + folder_.string() + "' && openssl " + arguments + " >/dev/null 2>&1";
        return std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe): no other thread runs
    }

    std::filesystem::path folder_;
    bool made_{true};
};

}  // namespace millpond::test
