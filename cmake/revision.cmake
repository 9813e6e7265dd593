# onceward_revision(<variable>): the commit that is built, as of the last configuration, which every
# `make` does; `$ONCEWARD_REVISION` where a build has no repository, else `unknown`.
function(onceward_revision variable)
    set(revision "$ENV{ONCEWARD_REVISION}")
    if(revision STREQUAL "")
        # The sources may be in another project's repository.
        execute_process(
            COMMAND git -C "${CMAKE_SOURCE_DIR}" rev-parse --short=12 --show-cdup HEAD
            OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        string(STRIP "${answer}" answer)
        if(answer MATCHES "^[0-9a-f]+$")
            set(revision "${answer}")
        else()
            set(revision unknown)
        endif()
    endif()
    set(${variable} "${revision}" PARENT_SCOPE)
endfunction()
