# Runs a command; `out` holds what it printed. A failure ends the script with it.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
    if(NOT code EQUAL 0)
        message(FATAL_ERROR "${ARGN}\nexited with ${code}:\n${out}")
    endif()
    set(out "${out}" PARENT_SCOPE)
endfunction()

# Lets the projects that a test configures use ccache where there is one.
find_program(ccache ccache)
if(ccache)
    set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${ccache}")
endif()
