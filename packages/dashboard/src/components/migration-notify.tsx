import { BellFillIcon, BellIcon } from '@primer/octicons-react'
import { Button } from '@primer/react'
import { useState } from 'react'
import { announce } from './announcements.tsx'

/** The local storage key: whether this browser notifies when a migration that it follows has ended. */
const KEY = 'godwit.notify'

/** Browsers without TLS have no notifications. */
const isPossible = () => 'Notification' in globalThis && isSecureContext

const isWanted = () =>
  isPossible() && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'yes'

/** Shows a notification if the user has asked for it. */
export function notify(title: string): void {
  if (!isWanted()) return
  try {
    new Notification(title, { tag: title })
  } catch {
    // Chrome on Android accepts notifications from service workers only.
  }
}

/** Turns notifications on and off in this browser. The browser asks for permission only when they are turned on. */
export function NotifyButton() {
  const [isOn, setOn] = useState(isWanted)
  const [isBlocked, setBlocked] = useState(false)
  if (!isPossible()) return null
  async function toggle(): Promise<void> {
    localStorage.removeItem(KEY)
    if (isOn) return setOn(false)
    const isGranted = (await Notification.requestPermission()) === 'granted'
    if (isGranted) localStorage.setItem(KEY, 'yes')
    setOn(isGranted)
    setBlocked(!isGranted)
    announce(isGranted ? 'You will be notified' : BLOCKED)
  }
  return (
    <Button
      leadingVisual={isOn ? BellFillIcon : BellIcon}
      aria-pressed={isOn}
      onClick={() => void toggle()}
    >
      {isBlocked ? BLOCKED : 'Notify me'}
    </Button>
  )
}

const BLOCKED = 'Blocked by the browser'
