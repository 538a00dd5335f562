#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>

#include <unistd.h>

#include "apps/millpond/fix/fix_commands.hpp"
#include "fixd/settings/user_file.hpp"
#include "service/password_hash.hpp"

namespace millpond::app {
namespace {

std::string read_password() {
    std::string password;
    if (::isatty(STDIN_FILENO) == 0) {
        std::getline(std::cin, password);
    } else {
        const auto typed = service::ask_password();
        if (!typed) throw UsageError{"fix passwd: no password: the two entries differ, or the input was interrupted"};
        password = *typed;
    }
    if (const auto wrong = service::wrong_with_password(password); !wrong.empty()) {
        throw UsageError{fmt::format("fix passwd: the password {}", wrong)};
    }
    return password;
}

int run(const std::string& user, const std::string& file) {
    if (!fixd::is_user_name(user)) {
        throw UsageError{fmt::format("fix passwd: '{}' is not a user name: visible characters without ':'", user)};
    }
    const auto hash = service::PasswordHash::of(read_password());
    if (file.empty()) {
        fmt::print("{}:{}\n", user, hash.text());
    } else {
        fixd::UserFile{file}.put(user, hash);
    }
    return 0;
}

}  // namespace

Command fix_passwd_command(Arguments& fix) {
    auto* command = fix.add_subcommand("passwd", "Hash a password: a line for the user_file of an engine.");
    auto user = std::make_shared<std::string>();
    command->add_option("USER", *user, "the user's name, as in Username(553)")->required();
    auto file = std::make_shared<std::string>();
    command->add_option("--file", *file,
                        "write the line to this user_file, replacing the user's old line, and print nothing");
    command->footer(
        "Asks for the password twice; without a terminal its first line of input is the password.\n"
        "A password has 8 to 64 bytes and no control characters. A running engine reads the file at the next Logon.\n"
        "Example: millpond fix passwd desk --file /etc/millpond/fix.users");
    return {command, [user, file] { return run(*user, *file); }};
}

}  // namespace millpond::app
