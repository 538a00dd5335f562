#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "service/password_hash.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {

/// The lines of a user file.
[[nodiscard]] inline std::string line_of(const std::string& user, const std::string& password) {
    return user + ":" + service::PasswordHash::of(password).text() + "\n";
}

[[nodiscard]] inline std::string text_in(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

/// A file of users, 0640.
class Users : public test::ScratchFile {
public:
    explicit Users(const std::string& text, const std::string& name = "users")
        : ScratchFile(test::scratch_name(name), text) {
        std::filesystem::permissions(path(), std::filesystem::perms{0640});
    }
};

}  // namespace millpond::fixd
