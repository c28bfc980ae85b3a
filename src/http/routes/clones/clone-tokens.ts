import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Viewer } from '../../../accounts/account.ts'

/** `temp_clone_token` of a repository, for one caller. */
export type CloneTokenOf = (repositoryId: number) => Buffer

export interface CloneTokens {
  /** Whether any are given out. */
  isServed: boolean
  /** Undefined where no clone is served at the addresses that are given out. */
  for(viewer: Viewer): CloneTokenOf | undefined
  /** What a token is for, if it is one of ours and has not expired. */
  read(token: string): CloneToken | undefined
}

/** Good for one repository, for as long as the caller's own token is, and an hour at most. */
interface CloneToken {
  /** Of the token with which it was asked for. */
  tokenId: number
  repositoryId: number
}

interface CloneTokenParts {
  /** Replaced by an operator who wants all tokens to end. */
  key: () => Buffer
  now: () => number
  isServed: boolean
}

const LIFETIME_MINUTES = 60
const MINUTE_MS = 60_000
const SHAPE = /^(gwc_([0-9a-z]{1,11})_([0-9a-z]{1,11})_([0-9a-z]{1,9})_)([\w-]{32})$/
const MAX_REMEMBERED = 100_000
/** Of numbers whose pair is still a number that is exact. */
const LARGEST_PAIRED = 2 ** 26

/**
 * Signed, not stored: whoever can read the key can check any of them. One is the same for a minute, and remembered for that
 * long: to sign one takes longer than all else that there is to do for a repository in an answer.
 */
export function cloneTokens({ key, now, isServed }: CloneTokenParts): CloneTokens {
  let remembered = new Map<number, Buffer>()
  let rememberedFor: { minute: number; key: Buffer } = { minute: 0, key: Buffer.alloc(0) }

  const signature = (text: string) =>
    createHmac('sha256', key()).update(text).digest('base64url').slice(0, 32)

  function make(tokenId: number, repositoryId: number, minute: number): Buffer {
    const numbers = [tokenId, repositoryId, minute + LIFETIME_MINUTES]
    const text = `gwc_${numbers.map((each) => each.toString(36)).join('_')}_`
    return Buffer.from(text + signature(text))
  }

  function forget(minute: number): void {
    const isSame = rememberedFor.minute === minute && rememberedFor.key === key()
    if (isSame && remembered.size < MAX_REMEMBERED) return
    remembered = new Map()
    rememberedFor = { minute, key: key() }
  }

  return {
    isServed,

    for({ tokenId }) {
      if (!isServed) return undefined
      const minute = Math.floor(now() / MINUTE_MS)
      forget(minute)
      const ofMinute = remembered
      return (repositoryId) => {
        if (tokenId >= LARGEST_PAIRED || repositoryId >= LARGEST_PAIRED)
          return make(tokenId, repositoryId, minute)
        const pair = tokenId * LARGEST_PAIRED + repositoryId
        let known = ofMinute.get(pair)
        if (!known) {
          known = make(tokenId, repositoryId, minute)
          ofMinute.set(pair, known)
        }
        return known
      }
    },

    read(token) {
      const [, text = '', ofToken = '', ofRepository = '', ends = '', sent = ''] =
        SHAPE.exec(token) ?? []
      if (text === '') return undefined
      const isSigned = timingSafeEqual(Buffer.from(signature(text)), Buffer.from(sent))
      const isOver = Number.parseInt(ends, 36) * MINUTE_MS <= now()
      if (!isSigned || isOver) return undefined
      return {
        tokenId: Number.parseInt(ofToken, 36),
        repositoryId: Number.parseInt(ofRepository, 36),
      }
    },
  }
}

/** Whether it looks like one of ours, good or not. */
export const isCloneToken = (text: string): boolean => text.startsWith('gwc_')
