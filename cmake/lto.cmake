# Optimisation across files, in release builds by gcc: the way of a short operation leads
# through five rooms. The archive's objects are fat, so that whoever links it needs to
# know nothing of it.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release"
   AND NOT RONDO_SANITIZE)
  set(RONDO_LTO ON)
else()
  set(RONDO_LTO OFF)
endif()

# For objects that take part.
function(rondo_lto_objects target)
  if(RONDO_LTO)
    target_compile_options(${target} PRIVATE -flto=auto -ffat-lto-objects)
  endif()
endfunction()

# For a library or program that is linked from them.
function(rondo_lto_link target)
  if(RONDO_LTO)
    target_link_options(${target} PRIVATE -flto=auto -O3)
  endif()
endfunction()
