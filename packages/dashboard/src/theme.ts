import { useState } from 'react'

export type ColorMode = 'auto' | 'light' | 'dark'

/** The local storage key of the color mode. */
const KEY = 'godwit.color-mode'

export function storedMode(): ColorMode {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'auto'
}

export function applyColorMode(mode: ColorMode = storedMode()): void {
  document.documentElement.dataset.colorMode = mode
}

export function storeColorMode(mode: ColorMode): void {
  if (mode === 'auto') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, mode)
  applyColorMode(mode)
}

export function useColorMode(): [ColorMode, (mode: ColorMode) => void] {
  const [mode, setMode] = useState(storedMode)
  const choose = (chosen: ColorMode) => {
    storeColorMode(chosen)
    setMode(chosen)
  }
  return [mode, choose]
}
