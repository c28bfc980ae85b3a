import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressedVariants } from './compressed-variants.ts'

/** `npx vite web` for work on the pages: calls of the API go on to a server that runs already. */
const SERVER = process.env.GODWIT_BASE_URL ?? 'http://127.0.0.1:3000'

export default defineConfig({
  // Wherever the server is mounted, the page finds its parts beside it.
  base: './',
  plugins: [react(), compressedVariants()],
  build: {
    target: 'es2023',
    // A data: address would need a hole in the content security policy.
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
      '^/(user|archives|admin|session|orgs|repos)': SERVER,
      // The page from here, the addresses of the API from there.
      '^/$': {
        target: SERVER,
        bypass: ({ headers, url }) => (headers.accept?.includes('text/html') ? url : undefined),
      },
    },
  },
})
