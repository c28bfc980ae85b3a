import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressedVariants } from './compressed-variants.ts'

/** `npx vite packages/dashboard` serves the pages for development, and forwards API requests to a running server. */
const SERVER = process.env.GODWIT_BASE_URL ?? 'http://127.0.0.1:3000'

export default defineConfig({
  // Relative URLs work below any path prefix.
  base: './',
  plugins: [react(), compressedVariants()],
  build: {
    target: 'es2023',
    // The content security policy does not allow data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1800,
    rolldownOptions: {
      input: ['index.html', 'docs.html'].map((page) => join(import.meta.dirname, page)),
      checks: { moduleLevelDirective: false, pluginTimings: false },
    },
  },
  server: {
    proxy: {
      '^/(user|archives|admin|session|orgs|repos|openapi.json)': SERVER,
      // Vite serves the page, and the running server the API.
      '^/$': {
        target: SERVER,
        bypass: ({ headers, url }) => (headers.accept?.includes('text/html') ? url : undefined),
      },
    },
  },
})
