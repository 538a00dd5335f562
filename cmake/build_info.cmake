# Writes OUT, which defines build_info(), from VERSION and the commit of SOURCE; only when that differs from what OUT
# holds, so that a build of the same commit compiles nothing.
execute_process(
    COMMAND git describe --always --dirty --abbrev=10 --exclude=*
    WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET
)
if(NOT commit)
    set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT [[
#include "service/build_info.hpp"

namespace millpond::service {

BuildInfo build_info() noexcept { return {"@VERSION@", "@commit@"}; }

}  // namespace millpond::service
]] @ONLY)
