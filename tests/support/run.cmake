# Runs a command; `out` gets its output. A failure ends the script with the output.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
    if(NOT code EQUAL 0)
        message(FATAL_ERROR "${ARGN}\nexited with ${code}:\n${out}")
    endif()
    set(out "${out}" PARENT_SCOPE)
endfunction()

# Lets projects that a test configures use ccache, if installed.
find_program(ccache ccache)
if(ccache)
    set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${ccache}")
endif()
