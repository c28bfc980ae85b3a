/**
 * What Node asks and answers other machines with. An import of `node:http` would load all that `fetch` and `WebSocket` need
 * besides: a twentieth of a second and ten megabytes that most processes never use.
 */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')
