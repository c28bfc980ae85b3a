/** A repository that the script restores. Its names contain only letters, digits, ".", "_" and "-". */
export interface Dumped {
  /** `OWNER/NAME`, relative to the script. */
  directory: string
  owner: string
  name: string
  isPrivate: boolean
}

/** Returns a script for any POSIX shell that restores every dump with the server's own program. */
export function restoreScript(dumps: readonly Dumped[]): string {
  const calls = dumps.map(
    ({ directory, owner, name, isPrivate }) =>
      `restore '${directory}' '${owner}' '${name}' ${isPrivate ? 'private' : 'public'}`,
  )
  return `${BEGINNING}\n${calls.join('\n')}\n${END}`
}

const BEGINNING = `#!/bin/sh
# Restores the repositories of this directory into a Gitea or Forgejo server, by the server's own "restore-repo".
# Run it on the server's machine, as the server's user, while the server runs. The owners must be there already.
#
#   GITEA="gitea -c /etc/gitea/app.ini" sh restore.sh [OWNER/NAME ...]
#
# GITEA             the program, with options if it needs any (default: gitea, else forgejo)
# OWNER             restore everything under this user or organization instead
# GITEA_URL         base URL of the server, and
# GITEA_TOKEN_FILE  file with an access token that may edit the repositories: with both, what was private is made private
#                   as soon as it is restored, because restore-repo makes every repository public
# PUBLIC=yes        restore private repositories without that: they become public
#
# Exit status: 0 everything arrived, 1 something did not, 2 nothing was tried.

if [ -z "\${GITEA:-}" ]; then
  GITEA=gitea
  command -v gitea >/dev/null || ! command -v forgejo >/dev/null || GITEA=forgejo
fi
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P) || exit 2
restored='' failed='' held='' exposed='' count=0 all=0

stop() {
  printf 'restore.sh: %s\\n' "$1" >&2
  exit 2
}

# A program whose path has spaces in it, or a program with options.
run() {
  if [ -f "$GITEA" ]; then "$GITEA" "$@" </dev/null; else $GITEA "$@" </dev/null; fi
}

# The server reads files of the dump by URL.
case $here in
*[%?#]*) stop "the path $here has %, ? or # in it: move the directory" ;;
esac
version=$(run --version 2>/dev/null) || stop "cannot run $GITEA: set GITEA to the path of gitea or forgejo"
case $version in
*'version 1.17.'* | *'version 1.18.'[0-3]*)
  stop "this version loses the comments of issues when it restores: update it to 1.18.4 or newer first" ;;
esac
if [ -n "\${GITEA_TOKEN_FILE:-}" ]; then
  [ -r "$GITEA_TOKEN_FILE" ] || stop "cannot read $GITEA_TOKEN_FILE"
  [ -n "\${GITEA_URL:-}" ] || stop 'GITEA_TOKEN_FILE needs GITEA_URL'
  command -v curl >/dev/null || stop 'GITEA_TOKEN_FILE needs curl'
fi

# The token is handed over by standard input, where no list of processes shows it.
make_private() {
  printf 'header = "Authorization: token %s"\\n' "$(cat "$GITEA_TOKEN_FILE")" |
    curl -fsS -o /dev/null -K - -X PATCH -H 'Content-Type: application/json' -d '{"private":true}' \\
      "\${GITEA_URL%/}/api/v1/repos/$1"
}

wanted=" $* "
is_wanted() {
  case $wanted in
  '  ' | *" $1 "*) return 0 ;;
  *) return 1 ;;
  esac
}

# restore DIRECTORY OWNER NAME VISIBILITY
restore() {
  is_wanted "$1" || return 0
  all=$((all + 1))
  to="\${OWNER:-$2}/$3"
  if [ "$4" = private ] && [ -z "\${GITEA_TOKEN_FILE:-}" ] && [ "\${PUBLIC:-}" != yes ]; then
    held="$held  $1
"
    return 0
  fi
  printf 'restoring %s as %s\\n' "$1" "$to"
  if run restore-repo --repo_dir "$here/$1" --owner_name "\${OWNER:-$2}" --repo_name "$3"; then
    count=$((count + 1))
    restored="$restored  $to
"
    [ "$4" = public ] && return 0
    if [ -n "\${GITEA_TOKEN_FILE:-}" ] && make_private "$to"; then return 0; fi
    exposed="$exposed  $to
"
  else
    failed="$failed  $to
"
  fi
}
`

const END = `
[ "$all" -ge $# ] && [ "$all" -gt 0 ] || printf 'restore.sh: not all of these are here: %s\\n' "$*" >&2
printf '\\n%s of %s repositories arrived\\n%s' "$count" "$all" "$restored"
if [ -n "$exposed" ]; then
  printf 'WARNING: these were private and are PUBLIC now; change it in their settings:\\n%s' "$exposed" >&2
fi
if [ -n "$held" ]; then
  printf '%s\\n%s' 'not restored: these are private, and restore-repo would make them public. Set GITEA_URL and GITEA_TOKEN_FILE, or PUBLIC=yes:' "$held" >&2
fi
if [ -n "$failed" ]; then
  printf '%s\\n%s' 'failed: look into the log of the server. Delete what a failure left there before you try again:' "$failed" >&2
fi
[ "$count" -eq "$all" ] && [ "$all" -gt 0 ] && [ "$all" -ge $# ] || exit 1
[ -z "$exposed" ] || [ "\${PUBLIC:-}" = yes ] || exit 1
`
