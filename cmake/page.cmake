# The admin port's page: its own files in cli/page/assets, and those that scripts/page has fetched.

# onceward_page_file(<variable> <address> <type> <file>): appends a PageFile to the variable.
function(onceward_page_file variable address type file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    set(work "${CMAKE_CURRENT_BINARY_DIR}/page")
    file(MAKE_DIRECTORY "${work}")
    cmake_path(GET file FILENAME name)
    file(READ "${file}" text)
    # Without an import map, which would have to be inline.
    string(REPLACE "from\"preact\"" "from\"./preact.mjs\"" text "${text}")
    string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" text "${text}")
    file(WRITE "${work}/${name}" "${text}")
    execute_process(COMMAND gzip -9 -n -c "${work}/${name}" OUTPUT_FILE "${work}/${name}.gz"
        COMMAND_ERROR_IS_FATAL ANY)
    file(SHA256 "${work}/${name}" hash)
    string(SUBSTRING "${hash}" 0 16 tag)
    file(SIZE "${work}/${name}" plain_size)
    file(SIZE "${work}/${name}.gz" gzip_size)
    foreach(form plain gzip)
        set(ending "")
        if(form STREQUAL gzip)
            set(ending ".gz")
        endif()
        file(READ "${work}/${name}${ending}" bytes HEX)
        string(REGEX REPLACE "(..)" "\\\\x\\1" ${form} "${bytes}")
        string(REGEX REPLACE "(................................................................)"
            "\\1\"\n    \"" ${form} "${${form}}")
    endforeach()
    set(${variable} "${${variable}}{\"${address}\", \"${type}\", \"\\\"${tag}\\\"\",
    {\"${plain}\", ${plain_size}},
    {\"${gzip}\", ${gzip_size}}},\n" PARENT_SCOPE)
endfunction()

# onceward_embed_page(<output.cc>): what page_files() returns. Empty where nothing was fetched.
function(onceward_embed_page output)
    onceward_dependencies_folder(dependencies)
    set(lock "${CMAKE_CURRENT_SOURCE_DIR}/page/vendor/package-lock.json")
    file(SHA256 "${lock}" hash)
    string(SUBSTRING "${hash}" 0 12 key)
    set(fetched "${dependencies}/page-${key}")
    set(files "")
    if(EXISTS "${fetched}")
        file(GLOB own CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/page/assets/*")
        file(GLOB vendored "${fetched}/*")
        foreach(path IN LISTS own vendored)
            cmake_path(GET path FILENAME name)
            set(address "/assets/${name}")
            if(name MATCHES "\\.html$")
                set(address "/")
                set(type "text/html; charset=utf-8")
            elseif(name MATCHES "\\.css$")
                set(type "text/css; charset=utf-8")
            elseif(name MATCHES "\\.svg$")
                set(type "image/svg+xml")
            elseif(name MATCHES "\\.txt$")
                set(type "text/plain; charset=utf-8")
            else()
                set(type "text/javascript; charset=utf-8")
            endif()
            onceward_page_file(files "${address}" "${type}" "${path}")
        endforeach()
    else()
        message(STATUS "The admin port gets no page: scripts/page has not fetched ${fetched}")
    endif()
    onceward_write_if_different("${output}" "#include \"cli/page/page_files.h\"

#include <vector>

namespace onceward {

std::span<const PageFile> page_files() {
    static const std::vector<PageFile> files{
${files}};
    return files;
}

}  // namespace onceward
")
endfunction()
