#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include <termios.h>

namespace millpond::app {

/// A terminal in full-screen mode: redraws the screen and reads single key presses. The destructor restores the
/// terminal.
///
/// Threads: one.
class Terminal {
public:
    /// Whether standard input and output are a terminal.
    [[nodiscard]] static bool available() noexcept;

    /// Switches to the terminal's alternate screen; only if available().
    Terminal();
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    struct Size {
        std::size_t width;
        std::size_t height;
    };
    /// Size of the terminal; 80 x 24 if it reports none.
    [[nodiscard]] Size size() const noexcept;

    /// Redraws the screen with these lines.
    void draw(std::string_view text) const;

    /// Waits for a key; 0 after the timeout or a signal.
    [[nodiscard]] char key(std::chrono::milliseconds timeout) const noexcept;

private:
    termios before_{};
};

}  // namespace millpond::app
