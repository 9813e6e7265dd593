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
# Writes <output>.h and <output>.cc from NNN_name.up.sql and NNN_name.down.sql, in order of number.
function(onceward_embed_migrations output folder)
    file(GLOB up_files CONFIGURE_DEPENDS "${folder}/*.up.sql")
    list(SORT up_files)
    set(entries "")
    set(expected 1)
    foreach(up_file IN LISTS up_files)
        if(NOT up_file MATCHES "/([0-9][0-9][0-9])_([a-z0-9_]+)\\.up\\.sql$")
            message(FATAL_ERROR "A migration is named NNN_name.up.sql, this one is not: ${up_file}")
        endif()
        set(name ${CMAKE_MATCH_2})
        math(EXPR number "1${CMAKE_MATCH_1} - 1000")
        if(NOT number EQUAL expected)
            message(FATAL_ERROR
                "Migration ${expected} is missing, or given twice, before ${up_file}")
        endif()
        math(EXPR expected "${expected} + 1")
        string(REPLACE ".up.sql" ".down.sql" down_file "${up_file}")
        onceward_literal("${up_file}" up)
        onceward_literal("${down_file}" down)
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
