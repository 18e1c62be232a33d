# The rooms of the house: each folder of sources is a library that sees the headers of the rooms it
# links, and of no others, so that an include against the arrows of CONTRIBUTING.md does not compile.
#
# dtl_room(FOLDER SOURCES FILE... [PUBLIC TARGET...] [PRIVATE TARGET...] [ASIO] [OBJECT])
# makes dtl_FOLDER of e.g. launcher/ssh, dtl_launcher_ssh. PUBLIC: what its headers include. ASIO: most
# of its sources read wire/asio.h. OBJECT: its objects go into several libraries.

# A folder of include paths that leads to one room alone, or to one header.
function(dtl_door target place)
  cmake_path(GET place PARENT_PATH parent)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/rooms/${target}/${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${place} ${CMAKE_BINARY_DIR}/rooms/${target}/${place} SYMBOLIC)
  add_library(${target}_door INTERFACE)
  target_include_directories(${target}_door INTERFACE
                             $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/rooms/${target}>)
endfunction()

# In place of rooms that are objects, their doors: whoever links those wants their headers alone.
function(dtl_doors_of_objects list)
  set(result)
  foreach(target ${${list}})
    if(TARGET ${target})
      get_target_property(type ${target} TYPE)
      if(type STREQUAL "OBJECT_LIBRARY")
        set(target ${target}_door)
      endif()
    endif()
    list(APPEND result ${target})
  endforeach()
  set(${list} ${result} PARENT_SCOPE)
endfunction()

function(dtl_room folder)
  cmake_parse_arguments(R "ASIO;OBJECT" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  string(REPLACE "/" "_" name dtl_${folder})
  list(TRANSFORM R_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/${folder}/)
  if(R_OBJECT)
    add_library(${name} OBJECT ${R_SOURCES})
  else()
    add_library(${name} STATIC ${R_SOURCES})
  endif()
  dtl_doors_of_objects(R_PUBLIC)
  dtl_doors_of_objects(R_PRIVATE)
  dtl_door(${name} ${folder})
  target_link_libraries(${name}_door INTERFACE dtl_flags)
  foreach(target ${R_PUBLIC})
    if(TARGET ${target}_door)
      set(target ${target}_door)
    endif()
    target_link_libraries(${name}_door INTERFACE ${target})
  endforeach()
  target_link_libraries(${name} PUBLIC ${name}_door ${R_PUBLIC} PRIVATE ${R_PRIVATE})
  set(headers common)
  if(R_ASIO)
    set(headers asio)
  endif()
  if(folder MATCHES "^(launcher|agent|plan)/" AND NOT folder STREQUAL "launcher/screen")
    dtl_control_plane(${name})
    set(headers ${headers}_control)
  endif()
  dtl_fast_build(${name} WITH ${headers})
endfunction()

# A build that takes half the time (DTL_FAST_BUILD): the headers of others that most units read are
# compiled once, and the sources of a library together, some at a time. A source still includes what
# it uses and has no name of its neighbours': the presets debug and fuzz compile one by one.
# dtl_headers(NAME HEADER... [LIBS TARGET...]) compiles headers, and once more as NAME_control, as the
# control plane is compiled: g++ 14 refuses headers that were compiled with another -O.
# dtl_fast_build(TARGET... [WITH NAME]) lets libraries use them, those of NAME common if none is named.
function(dtl_headers name)
  if(DTL_FAST_BUILD)
    cmake_parse_arguments(H "" "" "LIBS" ${ARGN})
    foreach(each ${name} ${name}_control)
      file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${each}_headers.cc CONTENT "")
      add_library(dtl_headers_${each} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${each}_headers.cc)
      target_link_libraries(dtl_headers_${each} PRIVATE dtl_flags ${H_LIBS})
      target_precompile_headers(dtl_headers_${each} PRIVATE ${H_UNPARSED_ARGUMENTS})
    endforeach()
    dtl_control_plane(dtl_headers_${name}_control)
  endif()
endfunction()
# The control plane waits for the kernel, ssh and other hosts. With -O1 its coroutines compile in two
# thirds of the time, and jobs start as fast. Last, so that it wins over the configuration's -O2.
function(dtl_control_plane target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
# Under the sanitizers these rooms are one unit each: their checks in templates, which each unit has
# anew, cost more than the rest. Names in the unnamed namespaces of such a room differ.
set(DTL_WHOLE_ROOMS dtl_agent_cores dtl_agent_job dtl_launcher_agents dtl_launcher_doctor dtl_launcher_job
    dtl_launcher_jobs dtl_launcher_join dtl_launcher_report dtl_launcher_request dtl_launcher_schedulers
    dtl_launcher_screen dtl_launcher_session dtl_launcher_ssh dtl_launcher_top dtl_trainer_data dtl_trainer_model
    dtl_trainer_tasks dtl_trainer_tokens dtl_wire)
function(dtl_fast_build)
  cmake_parse_arguments(P "" "WITH" "" ${ARGN})
  if(NOT P_WITH)
    set(P_WITH common)
  endif()
  # Without -O1 one compilation of the headers does for all.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    string(REPLACE "_control" "" P_WITH ${P_WITH})
  endif()
  if(DTL_FAST_BUILD)
    foreach(target ${P_UNPARSED_ARGUMENTS})
      set(batch 8)
      if(DTL_SANITIZE AND target IN_LIST DTL_WHOLE_ROOMS)
        set(batch 0)
      endif()
      target_precompile_headers(${target} REUSE_FROM dtl_headers_${P_WITH})
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
      # what stands in an included .cc is no header's
      target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                             # g++ 12 sees strings overrun (GCC bug 105329), and forgets in
                             # precompiled headers that these are not ours
                             $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
                             $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
                             # and frames mismatched (GCC bug 109224), as with the sanitizers
                             $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
    endforeach()
  endif()
endfunction()
