import { useState } from 'react'

export type ColorMode = 'auto' | 'light' | 'dark'

/** A taste, not a secret: it may outlive the tab. */
const KEY = 'godwit.color-mode'

function keptMode(): ColorMode {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'auto'
}

export function applyColorMode(mode: ColorMode = keptMode()): void {
  document.documentElement.dataset.colorMode = mode
}

export function useColorMode(): [ColorMode, (mode: ColorMode) => void] {
  const [mode, setMode] = useState(keptMode)
  const choose = (chosen: ColorMode) => {
    if (chosen === 'auto') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, chosen)
    applyColorMode(chosen)
    setMode(chosen)
  }
  return [mode, choose]
}
