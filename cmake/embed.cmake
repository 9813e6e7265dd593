# Puts text files into the program, at configure time: a changed file configures again by itself.

function(onceward_write_if_different path content)
    if(EXISTS "${path}")
        file(READ "${path}" old)
        if(old STREQUAL content)
            return()
        endif()
    endif()
    file(WRITE "${path}" "${content}")
endfunction()

function(onceward_literal path result)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    file(READ "${path}" text)
    set(${result} "R\"onceward_text(${text})onceward_text\"" PARENT_SCOPE)
endfunction()

# onceward_embed(<output> <namespace> <files> ...)
# Writes <output>.h and <output>.cc: for each file `extern const std::string_view <name>;`, where
# the name is the file's own without its ending.
function(onceward_embed output namespace)
    set(declarations "")
    set(definitions "")
    foreach(path IN LISTS ARGN)
        cmake_path(GET path STEM name)
        onceward_literal("${path}" literal)
        string(APPEND declarations "extern const std::string_view ${name};\n")
        string(APPEND definitions
            "constinit const std::string_view ${name} = ${literal};\n")
    endforeach()
    cmake_path(GET output FILENAME header)
    onceward_write_if_different("${output}.h"
        "#pragma once\n#include <string_view>\nnamespace ${namespace} {\n${declarations}}\n")
    onceward_write_if_different("${output}.cc"
        "#include \"${output}.h\"\nnamespace ${namespace} {\n${definitions}}\n")
endfunction()

# onceward_embed_migrations(<output> <folder>)
# Writes <output>.h and <output>.cc from the folders NNN_name, in order of number. A migration's way
# up is the text of its files *up.sql in the order of their names; its way down is down.sql.
function(onceward_embed_migrations output folder)
    file(GLOB steps LIST_DIRECTORIES true CONFIGURE_DEPENDS "${folder}/*")
    list(SORT steps)
    set(entries "")
    set(expected 1)
    foreach(step IN LISTS steps)
        if(NOT step MATCHES "/([0-9][0-9][0-9])_([a-z0-9_]+)$" OR NOT IS_DIRECTORY "${step}")
            message(FATAL_ERROR "A migration is a folder NNN_name, this is not: ${step}")
        endif()
        set(name ${CMAKE_MATCH_2})
        math(EXPR number "1${CMAKE_MATCH_1} - 1000")
        if(NOT number EQUAL expected)
            message(FATAL_ERROR "Migration ${expected} is missing, or given twice, before ${step}")
        endif()
        math(EXPR expected "${expected} + 1")
        file(GLOB up_files CONFIGURE_DEPENDS "${step}/*up.sql")
        list(SORT up_files)
        if(NOT up_files)
            message(FATAL_ERROR "Migration ${step} has no file *up.sql")
        endif()
        set(up "")
        foreach(up_file IN LISTS up_files)
            onceward_literal("${up_file}" literal)
            string(APPEND up "${literal}\n")
        endforeach()
        onceward_literal("${step}/down.sql" down)
        string(APPEND entries "{${number}, \"${name}\",\n${up},\n${down}},\n")
    endforeach()
    onceward_write_if_different("${output}.h" "#pragma once
#include <span>
#include <string_view>
namespace onceward {
struct Migration {
    int number;
    std::string_view name;
    std::string_view up;
    std::string_view down;
};
// All of them, in the order in which they go up.
std::span<const Migration> migrations();
}  // namespace onceward
")
    math(EXPR count "${expected} - 1")
    onceward_write_if_different("${output}.cc" "#include \"${output}.h\"
#include <array>
namespace onceward {
namespace {
constexpr std::array<Migration, ${count}> all{{
${entries}}};
}
std::span<const Migration> migrations() { return all; }
}  // namespace onceward
")
endfunction()
