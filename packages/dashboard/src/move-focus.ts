import { flushSync } from 'react-dom'

/** Applies a change that removes the focused button, and moves the focus to the first element that takes it. */
export function moveFocus(change: () => void, ...to: (HTMLElement | null)[]): void {
  flushSync(change)
  for (const each of to) {
    each?.focus()
    if (document.activeElement === each) return
  }
}
