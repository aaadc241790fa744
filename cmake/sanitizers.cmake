# RONDO_SANITIZE=address,undefined or thread: for our code and whatever links it.
function(rondo_sanitizers target)
  if(NOT RONDO_SANITIZE)
    return()
  endif()
  target_compile_options(${target} INTERFACE
    -fsanitize=${RONDO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(${target} INTERFACE -fsanitize=${RONDO_SANITIZE})
endfunction()
