# Installs the file `onceward_from` as `onceward_to`.gz below the prefix: without a name and a time
# in it, so that two builds give the same bytes.
set(target "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${onceward_to}")
cmake_path(GET target PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}")
execute_process(COMMAND gzip -9nc "${onceward_from}" OUTPUT_FILE "${target}.gz"
                COMMAND_ERROR_IS_FATAL ANY)
