#include <fmt/format.h>

#include <cstddef>
#include <iostream>
#include <memory>
#include <string>

#include <unistd.h>

#include "apps/millpond/fix/fix_commands.hpp"
#include "fixd/user_file.hpp"
#include "service/password_hash.hpp"

namespace millpond::app {
namespace {

constexpr std::size_t kShortest = 8;

std::string read_password() {
    std::string password;
    if (::isatty(STDIN_FILENO) == 0) {
        std::getline(std::cin, password);
    } else {
        const auto typed = service::ask_password();
        if (!typed) throw UsageError{"fix passwd: no password: the two differ, or it was interrupted"};
        password = *typed;
    }
    if (password.size() < kShortest) throw UsageError{"fix passwd: a password has 8 characters or more"};
    return password;
}

int run(const std::string& user) {
    if (!fixd::is_user_name(user)) {
        throw UsageError{fmt::format("fix passwd: '{}' is no user's name: visible characters without ':'", user)};
    }
    fmt::print("{}:{}\n", user, service::PasswordHash::of(read_password()).text());
    return 0;
}

}  // namespace

Command fix_passwd_command(Arguments& fix) {
    auto* command = fix.add_subcommand("passwd", "Hash a password: a line for the user_file of an engine.");
    auto user = std::make_shared<std::string>();
    command->add_option("USER", *user, "the user's name, as in Username(553)")->required();
    command->footer(
        "Asks for the password twice; without a terminal its first line of input is the password.\n"
        "Example: millpond fix passwd desk >> /etc/millpond/fix.users");
    return {command, [user] { return run(*user); }};
}

}  // namespace millpond::app
