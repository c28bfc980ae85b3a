/** Repositories' times: UTC, whole seconds, `Z`. */
export function utcTimestamp(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}

export const timeOrNull = (at: number | null): string | null =>
  at === null ? null : utcTimestamp(at)

/** Migrations' times: whole seconds with the zone's numeric offset of that moment, `2026-11-14T09:30:00+01:00`. */
export function offsetTimestamps(timeZone: string): (at: number) => string {
  const zone = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
  return (at) => {
    const name = zone.formatToParts(at).find((part) => part.type === 'timeZoneName')!.value
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(name) ?? ['', '+', '00', '00']
    const shift = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
    return `${new Date(at + shift).toISOString().slice(0, 19)}${sign}${hours}:${minutes}`
  }
}
