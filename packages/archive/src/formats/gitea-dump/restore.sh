#!/bin/sh
# Restores the repositories of this directory into a Gitea or Forgejo server with the server's own "restore-repo".
# Run it on the server's machine, as the server's user, while the server runs. The owners must already exist.
#
#   GITEA="gitea -c /etc/gitea/app.ini" sh restore.sh [--finish] [OWNER/NAME ...]
#
# --finish          then run "godwit finish", which transfers what restore-repo does not restore; it needs godwit on this
#                   machine, GITEA_URL and GITEA_TOKEN_FILE
#
# GITEA             the program, with options if it needs any (default: gitea, else forgejo)
# OWNER             restore everything under this user or organization, not under the owners in the dumps
# GITEA_URL         base URL of the server
# GITEA_TOKEN_FILE  file with an access token that may edit the repositories
# PUBLIC=yes        restore private repositories as public
# GODWIT            the path of godwit (default: godwit)
#
# restore-repo makes every repository public. With GITEA_URL and GITEA_TOKEN_FILE, private repositories are made private
# again as soon as they are restored. Without them, they are restored only with PUBLIC=yes.
#
# Exit status: 0 everything was restored, 1 something was not, 2 nothing was attempted.

if [ -z "${GITEA:-}" ]; then
  GITEA=gitea
  command -v gitea >/dev/null || ! command -v forgejo >/dev/null || GITEA=forgejo
fi
finish=
if [ "${1:-}" = --finish ]; then
  finish=yes
  shift
fi
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P) || exit 2
restored='' restored_dumps='' failed='' withheld='' exposed='' count=0 selected=0

stop() {
  printf 'restore.sh: %s\n' "$1" >&2
  exit 2
}

# GITEA is the path of a program, which may have spaces in it, or a program with options.
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
if [ -n "${GITEA_TOKEN_FILE:-}" ]; then
  [ -r "$GITEA_TOKEN_FILE" ] || stop "cannot read $GITEA_TOKEN_FILE"
  [ -n "${GITEA_URL:-}" ] || stop 'GITEA_TOKEN_FILE needs GITEA_URL'
  command -v curl >/dev/null || stop 'GITEA_TOKEN_FILE needs curl'
fi

if [ -n "$finish" ]; then
  [ -n "${GITEA_TOKEN_FILE:-}" ] || stop '--finish needs GITEA_URL and GITEA_TOKEN_FILE'
  command -v "${GODWIT:-godwit}" >/dev/null || stop "cannot run ${GODWIT:-godwit}: set GODWIT to the path of godwit"
fi

# curl reads the token from standard input, so that it is not in the list of processes.
make_private() {
  printf 'header = "Authorization: token %s"\n' "$(cat "$GITEA_TOKEN_FILE")" |
    curl -fsS -o /dev/null -K - -X PATCH -H 'Content-Type: application/json' -d '{"private":true}' \
      "${GITEA_URL%/}/api/v1/repos/$1"
}

wanted=" $* "
is_wanted() {
  case $wanted in
  '  ' | *" $1 "*) return 0 ;;
  *) return 1 ;;
  esac
}

finish_restored() {
  for each in $restored_dumps; do set -- "$@" --include "$each"; done
  "${GODWIT:-godwit}" finish "$here" --forge "$GITEA_URL" --token-file "$GITEA_TOKEN_FILE" \
    ${OWNER:+--owner "$OWNER"} "$@" </dev/null
}

# restore DIRECTORY OWNER NAME VISIBILITY
restore() {
  is_wanted "$1" || return 0
  selected=$((selected + 1))
  to="${OWNER:-$2}/$3"
  if [ "$4" = private ] && [ -z "${GITEA_TOKEN_FILE:-}" ] && [ "${PUBLIC:-}" != yes ]; then
    withheld="$withheld  $1
"
    return 0
  fi
  printf 'restoring %s as %s\n' "$1" "$to"
  if run restore-repo --repo_dir "$here/$1" --owner_name "${OWNER:-$2}" --repo_name "$3"; then
    count=$((count + 1))
    restored="$restored  $to
"
    restored_dumps="$restored_dumps $1"
    [ "$4" = public ] && return 0
    if [ -n "${GITEA_TOKEN_FILE:-}" ] && make_private "$to"; then return 0; fi
    exposed="$exposed  $to
"
  else
    failed="$failed  $to
"
  fi
}

# Here restore-script.ts inserts a call of restore for each repository.

[ "$selected" -ge $# ] && [ "$selected" -gt 0 ] || printf 'restore.sh: not all of these are in this directory: %s\n' "$*" >&2
printf '\n%s of %s repositories restored\n%s' "$count" "$selected" "$restored"
if [ -n "$exposed" ]; then
  printf 'WARNING: these were private and are PUBLIC now; change it in their settings:\n%s' "$exposed" >&2
fi
if [ -n "$withheld" ]; then
  printf '%s\n%s' 'not restored: these are private, and restore-repo would make them public. Set GITEA_URL and GITEA_TOKEN_FILE, or PUBLIC=yes:' "$withheld" >&2
fi
if [ -n "$failed" ]; then
  printf '%s\n%s' 'failed: see the log of the server. Delete the incomplete repositories from the server before you try again:' "$failed" >&2
fi
[ -z "$finish" ] || [ -z "$restored_dumps" ] || finish_restored || exit 1
[ "$count" -eq "$selected" ] && [ "$selected" -gt 0 ] && [ "$selected" -ge $# ] || exit 1
[ -z "$exposed" ] || [ "${PUBLIC:-}" = yes ] || exit 1
