#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace millpond::service {

/// Memory could not be allocated; the text names its purpose.
class OutOfMemory : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns make(). If it fails for lack of memory, throws OutOfMemory with a text that begins with `what`: the setting
/// or part that needs the memory.
template <class Make>
decltype(auto) need_memory(const std::string& what, Make&& make) {
    try {
        return make();
    } catch (const std::bad_alloc&) {
        throw OutOfMemory(what + ": out of memory");
    } catch (const OutOfMemory& error) {
        throw OutOfMemory(what + ": " + error.what());
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::not_enough_memory) throw;
        throw OutOfMemory(what + ": " + error.what());
    }
}

}  // namespace millpond::service
