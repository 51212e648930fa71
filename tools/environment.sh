# Sourced at the root of the tree by the commands beside it: lets ccache, where it is installed, find what another clone has compiled.

# keep_or_set OPTION VARIABLE VALUE: sets the variable unless the user has set the option, there or in a file of ccache's.
keep_or_set() {
    if grep -q "^(default) $1 = " <<<"$ccache_options"; then
        export "$2=$3"
    fi
}
if command -v ccache >/dev/null; then
    ccache_options=$(ccache --show-config)
    # Files that use a precompiled header are kept only with both of these.
    keep_or_set sloppiness CCACHE_SLOPPINESS pch_defines,time_macros
    # Else a header that only differs in comments gets its old precompiled form back, which GCC takes for that of another file.
    keep_or_set keep_comments_cpp CCACHE_COMMENTS 1
    # Paths below the tree count as relative ones, and the folder of the build does not count.
    keep_or_set base_dir CCACHE_BASEDIR "$PWD"
    keep_or_set hash_dir CCACHE_NOHASHDIR 1
    unset ccache_options
fi
unset -f keep_or_set
