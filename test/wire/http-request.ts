import { type IncomingHttpHeaders, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { text } from 'node:stream/consumers'

export type Headers = Readonly<Record<string, string | undefined>>

export interface HttpResponse {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** Sends a request with exactly these headers: `fetch` would add a user agent and hide the length of a HEAD response. */
export function send(
  method: string,
  url: string,
  { headers = {}, body }: { headers?: Headers; body?: string } = {},
): Promise<HttpResponse> {
  const request = url.startsWith('https:') ? overHttps : overHttp
  const sent = Object.entries(headers).filter(([, value]) => value !== undefined)
  return new Promise((resolve, reject) => {
    request(url, { method, headers: Object.fromEntries(sent), agent: false }, (response) => {
      text(response).then((read) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read })
      }, reject)
    })
      .on('error', reject)
      .end(body)
  })
}
