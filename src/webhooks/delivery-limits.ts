/** How many are sent at the same time by one process. */
export const DELIVERIES_AT_ONCE = 16
/** Of one account or organization. */
const OF_ONE_OWNER = 2
/** To webhooks whose last delivery failed: these are likely to take as long as they may. */
const TO_FAILING = DELIVERIES_AT_ONCE / 2

export interface Sending {
  ownerId: number
  isFailing: boolean
}

/** Room to send, shared fairly: neither one owner nor all the receivers that hang can take all of it. */
export class DeliveryLimits {
  readonly #underWay = new Set<Sending>()

  hasRoom(sending: Sending): boolean {
    const count = (isLike: (other: Sending) => boolean) =>
      this.#underWay.values().filter(isLike).toArray().length
    if (count(({ ownerId }) => ownerId === sending.ownerId) >= OF_ONE_OWNER) return false
    return !sending.isFailing || count(({ isFailing }) => isFailing) < TO_FAILING
  }

  /** To be called at the end; undefined where there is no room now. */
  enter(sending: Sending): (() => void) | undefined {
    if (!this.hasRoom(sending)) return undefined
    this.#underWay.add(sending)
    return () => this.#underWay.delete(sending)
  }
}
