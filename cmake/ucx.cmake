# librondo_ucx.so, the transport between hosts: the only part that knows UCX, loaded
# by librondo when a pair of ranks needs it. Without UCX everything else is built.
pkg_check_modules(UCX IMPORTED_TARGET ucx)
if(UCX_FOUND)
  file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/transport/ucx/module/*.c)
  add_library(rondo_ucx MODULE ${found})
  target_include_directories(rondo_ucx PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # Its headers are no code of ours to warn about.
  target_include_directories(rondo_ucx SYSTEM PRIVATE ${UCX_INCLUDE_DIRS})
  # UCX itself is loaded at run time (calls.h), and its threads do not survive being
  # unloaded, so the module stays too. One symbol is seen.
  target_link_libraries(rondo_ucx PRIVATE rondo_flags ${CMAKE_DL_LIBS})
  target_link_options(rondo_ucx PRIVATE LINKER:-z,nodelete LINKER:-z,defs)
  set_target_properties(rondo_ucx PROPERTIES OUTPUT_NAME rondo_ucx)
else()
  message(WARNING "UCX (libucx-dev) is not there: ranks on several hosts cannot be built")
endif()
