# onceward_allocates_by_jemalloc(<program>)
# malloc, free, new and delete of the whole program are jemalloc's, those of librdkafka and libpq
# as well. A message is allocated by one thread and freed by another, and batches are large blocks
# that come and go; glibc's malloc pays for both with system calls and page faults. Programs alone
# are linked so: who uses the libraries chooses for themselves.
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
function(onceward_allocates_by_jemalloc program)
    if(ONCEWARD_SANITIZE)
        return()  # A sanitizer finds mistakes by an allocator of its own.
    endif()
    # First among the libraries, since the first one that has malloc is used; and kept, although
    # nothing calls it by a name that is its own.
    set(library "$<TARGET_PROPERTY:PkgConfig::jemalloc,INTERFACE_LINK_LIBRARIES>")
    target_link_options(${program} PRIVATE
        "LINKER:--push-state,--no-as-needed,${library},--pop-state")
endfunction()
