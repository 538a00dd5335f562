#pragma once

#include <unistd.h>

#include <exception>
#include <string>

/// Error reporting that also compiles with -fno-exceptions. MILLPOND_THROW then ends the process with the exception's
/// text, so that no handler is reached.
///
///     MILLPOND_THROW(Type(arguments...));    throw an exception
///     MILLPOND_TRY { ... }                   try
///     MILLPOND_CATCH(const Type&) { ... }    catch; does not name the exception
///     MILLPOND_RETHROW;                      throw the exception that is being handled
#ifdef __cpp_exceptions
#define MILLPOND_THROW(...) throw __VA_ARGS__
#define MILLPOND_TRY try
#define MILLPOND_CATCH(...) catch (__VA_ARGS__)
#define MILLPOND_RETHROW throw
#else
#define MILLPOND_THROW(...) ::millpond::core::terminate_with(__VA_ARGS__)
#define MILLPOND_TRY if constexpr (true)
#define MILLPOND_CATCH(...) else if constexpr (false)
#define MILLPOND_RETHROW std::terminate()
#endif

namespace millpond::core {

/// Prints the exception's text to standard error and calls std::terminate.
[[noreturn]] inline void terminate_with(const std::exception& error) noexcept {
    const auto line = std::string{"millpond: "} + error.what() + "\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    std::terminate();
}

}  // namespace millpond::core
