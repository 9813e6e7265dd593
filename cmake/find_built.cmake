# onceward_dependencies_folder(<variable>): where scripts keep what they have built or fetched.
macro(onceward_dependencies_folder variable)
    if(DEFINED ENV{ONCEWARD_DEPENDENCIES})
        set(${variable} "$ENV{ONCEWARD_DEPENDENCIES}")
    elseif(DEFINED ENV{XDG_CACHE_HOME})
        set(${variable} "$ENV{XDG_CACHE_HOME}/onceward")
    else()
        set(${variable} "$ENV{HOME}/.cache/onceward")
    endif()
endmacro()

# onceward_find(<package> <least version> <target> <folder>): finds an installed package first, then
# the newest one that a script has built in $ONCEWARD_DEPENDENCIES/<folder>-<version>. Used by this
# build and by the installed package.
macro(onceward_find package least target folder)
    if(NOT TARGET ${target})
        find_package(${package} ${least} CONFIG QUIET)
    endif()
    if(NOT TARGET ${target})
        onceward_dependencies_folder(onceward_dependencies)
        file(GLOB onceward_prefixes "${onceward_dependencies}/${folder}-*")
        list(SORT onceward_prefixes COMPARE NATURAL ORDER DESCENDING)
        foreach(onceward_prefix IN LISTS onceward_prefixes)
            if(NOT TARGET ${target})
                # A find module of its own, such as librdkafka's for lz4, is next to its file.
                list(APPEND CMAKE_MODULE_PATH "${onceward_prefix}/lib/cmake/${package}")
                find_package(${package} ${least} CONFIG QUIET
                    PATHS "${onceward_prefix}" NO_DEFAULT_PATH)
            endif()
        endforeach()
    endif()
endmacro()
