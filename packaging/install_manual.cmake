# Installs the manual pages and the completions, which `onceward_program` writes itself,
# below `onceward_share`.
set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${onceward_share}")
message(STATUS "Installing: manual pages and completions below ${share}")
execute_process(COMMAND "${onceward_program}" manual "${share}/man" COMMAND_ERROR_IS_FATAL ANY)
foreach(pair "bash;bash-completion/completions/onceward" "zsh;zsh/vendor-completions/_onceward"
        "fish;fish/vendor_completions.d/onceward.fish")
    list(GET pair 0 shell)
    list(GET pair 1 file)
    cmake_path(GET file PARENT_PATH folder)
    file(MAKE_DIRECTORY "${share}/${folder}")
    execute_process(COMMAND "${onceward_program}" completion ${shell} OUTPUT_FILE "${share}/${file}"
                    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB pages "${share}/man/man1/onceward*.1" "${share}/man/man5/onceward.yaml.5")
execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
