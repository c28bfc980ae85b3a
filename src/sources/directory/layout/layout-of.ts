import { anyDepth } from './any-depth.ts'
import { flat } from './flat.ts'
import type { Layout } from './layout.ts'
import { ownerAndName } from './owner-and-name.ts'

export interface LayoutOptions {
  kind: 'owner/name' | 'flat' | 'any-depth'
  /** Whose the repositories are that lie in no owner's directory. */
  owner?: string | undefined
}

export function layoutOf(root: string, { kind, owner }: LayoutOptions): Layout {
  if (kind === 'owner/name') return ownerAndName(root)
  if (kind === 'any-depth') return anyDepth(root, owner)
  if (owner === undefined) throw new Error('the flat layout needs an owner')
  return flat(root, owner)
}
