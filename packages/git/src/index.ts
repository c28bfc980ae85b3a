/** What other programs use of this package. The other entries in package.json are for the packages of Godwit. */
export { createGit, type Git, type GitOptions } from './git.ts'
export type { Refs } from './refs.ts'
export { type ExamineDependencies, examine } from './snapshot/examine.ts'
export { takeSnapshot } from './snapshot/take-snapshot.ts'
export type { Examination, RepositoryLocation, Snapshot } from './snapshot.ts'
export { type GitProgram, temporaryGit } from './temporary-git.ts'
export { RepositoryNotFound, Unreadable } from './unreadable.ts'
