import { anyDepth } from './any-depth.ts'
import { flat } from './flat.ts'
import type { Layout } from './layout.ts'
import { ownerAndName } from './owner-and-name.ts'

export interface LayoutOptions {
  kind: 'owner/name' | 'flat' | 'any-depth'
  /** Whose the repositories are that lie in no owner's directory. */
  owner?: string | undefined
  /** Whether a name may stand for a directory in lower case: a forge keeps its repositories so, however it spells them. */
  mayBeLowerCase?: boolean
}

export function layoutOf(root: string, { kind, owner, mayBeLowerCase }: LayoutOptions): Layout {
  if (kind === 'owner/name') return ownerAndName(root, mayBeLowerCase)
  if (kind === 'any-depth') return anyDepth(root, owner)
  if (owner === undefined) throw new Error('the flat layout needs an owner')
  return flat(root, owner)
}
