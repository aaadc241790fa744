# The warnings both compilers must be silent about.
function(rondo_warnings target)
  target_compile_options(${target} INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wundef -Wvla -Wcast-qual -Wwrite-strings
    -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wformat=2)
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    # gcc stays silent where a mechanical edit leaves `a, b` for `a && b`.
    target_compile_options(${target} INTERFACE -Wcomma)
  endif()
  if(RONDO_WERROR)
    target_compile_options(${target} INTERFACE -Werror)
  endif()
endfunction()
