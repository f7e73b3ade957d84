# The Debian package: `cpack` in the build folder, or ./dev package. Its files are those of `cmake --install`, apart from
# the libraries, which go into Debian's folder of the architecture, and from what debian_layout.cmake changes.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dlaunch)
set(CPACK_PACKAGE_VENDOR dlaunch)
set(CPACK_PACKAGE_CONTACT "dlaunch maintainers <maintainers@dlaunch.invalid>" CACHE STRING "maintainer of the package")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};dlaunch;common;/;${CMAKE_BINARY_DIR};dlaunch;debian;/")
set(CPACK_MONOLITHIC_INSTALL OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_layout.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "launcher for distributed programs, in place of torchrun")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Starts the processes of a distributed program on one machine or many, gives each
its rank, watches them, restarts them after a failure, and ends with one report
that names the cause. Accepts torchrun's command line.
.
The library libdlaunch has process groups and collectives for C++ programs.")
# Versions of the needed libraries come from dpkg-shlibdeps, and other packages find that of libdlaunch in shlibs.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libhwloc15, libssl3")  # --bind, --hosts and --token-file
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3)
include(CPack)
