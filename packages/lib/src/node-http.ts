/** `import 'node:http'` would also load `fetch` and `WebSocket`: 50 ms and 10 MB that most processes never use. */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')
