# Run by CPack on the files of the package: names, compression and folders that Debian's policy asks for.
find_program(gzip gzip REQUIRED)
set(usr ${CPACK_TEMPORARY_DIRECTORY}/usr)
set(documents ${usr}/share/doc/dlaunch)

file(GLOB_RECURSE pages ${usr}/share/man/*.[1-9])
file(RENAME ${documents}/CHANGELOG.md ${documents}/changelog)
file(RENAME ${documents}/LICENSE ${documents}/copyright)
# -n: no names and times, so that equal inputs give equal packages.
execute_process(COMMAND ${gzip} -9 -n ${pages} ${documents}/changelog COMMAND_ERROR_IS_FATAL ANY)

# zsh of Debian searches only this folder below /usr.
file(MAKE_DIRECTORY ${usr}/share/zsh/vendor-completions)
file(RENAME ${usr}/share/zsh/site-functions/_dlaunch ${usr}/share/zsh/vendor-completions/_dlaunch)
file(REMOVE_RECURSE ${usr}/share/zsh/site-functions)
