import { flushSync } from 'react-dom'

/** For a change that removes the button it was asked for with: the focus goes to the first of these that takes it. */
export function handFocus(change: () => void, ...to: (HTMLElement | null)[]): void {
  flushSync(change)
  for (const each of to) {
    each?.focus()
    if (document.activeElement === each) return
  }
}
