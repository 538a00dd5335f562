#include "apps/millpond/top/terminal.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace millpond::app {

bool Terminal::available() noexcept { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

Terminal::Terminal() {
    tcgetattr(STDIN_FILENO, &before_);
    auto raw = before_;
    raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    fmt::print("\033[?1049h\033[?25l");  // the alternate screen, no cursor
    std::fflush(stdout);
}

Terminal::~Terminal() {
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    std::fputs("\033[?25h\033[?1049l", stdout);
    std::fflush(stdout);
}

Terminal::Size Terminal::size() const noexcept {
    winsize window{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {80, 24};
    return {window.ws_col, window.ws_row};
}

void Terminal::draw(std::string_view text) const {
    std::string screen{"\033[H"};
    for (const char c : text) {
        if (c == '\n')
            screen += "\033[K\r\n";
        else
            screen += c;
    }
    screen += "\033[J";
    fmt::print("{}", screen);
    std::fflush(stdout);
}

char Terminal::key(std::chrono::milliseconds timeout) const noexcept {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&input, 1, static_cast<int>(timeout.count())) <= 0) return 0;
    char key = 0;
    return read(STDIN_FILENO, &key, 1) == 1 ? key : '\0';
}

}  // namespace millpond::app
