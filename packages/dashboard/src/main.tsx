import '@primer/primitives/dist/css/primitives.css'
import '@primer/primitives/dist/css/functional/themes/light.css'
import '@primer/primitives/dist/css/functional/themes/dark.css'
import './page.css'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { SessionProvider } from './session.tsx'
import { applyColorMode } from './theme.ts'

applyColorMode()
createRoot(document.getElementById('root')!).render(
  <SessionProvider>
    <App />
  </SessionProvider>,
)
