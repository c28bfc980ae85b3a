/** How a command ends, for whoever runs it from a script. The README has the same table. */
export const EXIT = {
  done: 0,
  failed: 1,
  misused: 2,
  refused: 3,
  unreachable: 4,
} as const

export const exitCodes: readonly [code: string, meaning: string][] = [
  ['0', 'done; for `watch`, the migration is exported'],
  [
    '1',
    'it failed: an archive is damaged, a migration failed, something cannot be read or written',
  ],
  ['2', 'misused: a command, an option or a setting is wrong; nothing was done'],
  ['3', 'the server refused: the token, what was asked, or there is no such migration'],
  ['4', 'the server cannot be reached, or could not do it now: another try may help'],
  ['128+N', 'stopped by signal N: 130 after Ctrl-C; nothing unfinished is left'],
]
