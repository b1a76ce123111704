/** `/connect/checksession` (OpenID Connect Session Management §3.3): a frame that tells a client whether its session has changed. */
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { html } from '../pages/html.ts'
import type { BrowserCookies } from './cookies.ts'

/** Computes what authorize/session-state.ts does, from the cookie as it is now; answers nobody but the sender. */
const SCRIPT = `
const name = document.currentScript.dataset.cookie + '='
addEventListener('message', async ({ data, origin, source }) => {
  if (source === null || origin === 'null') return
  const answer = (word) => source.postMessage(word, origin)
  const parts = typeof data === 'string' ? /^(.+) ([A-Za-z0-9_-]+)\\.([A-Za-z0-9_-]+)$/.exec(data) : null
  if (parts === null) return answer('error')
  const cookie = document.cookie.split('; ').find((pair) => pair.startsWith(name))
  const text = parts[1] + ' ' + origin + ' ' + (cookie === undefined ? '' : cookie.slice(name.length)) + ' ' + parts[3]
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  const hash = btoa(String.fromCharCode(...digest)).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '')
  answer(hash === parts[2] ? 'unchanged' : 'changed')
})
`
const SCRIPT_SOURCE = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`

export function registerCheckSession(app: FastifyInstance, cookies: BrowserCookies): void {
  const opening = html`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Session</title></head><body><script data-cookie="${cookies.mark.name}">`
  const page = `${opening}${SCRIPT}</script></body></html>\n`
  app.get('/connect/checksession', async (_request, reply) => {
    // Every client frames it; it shows nothing and knows no credential.
    reply.removeHeader('x-frame-options')
    return reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'public, max-age=3600')
      .header('content-security-policy', `default-src 'none'; script-src ${SCRIPT_SOURCE}; base-uri 'none'`)
      .send(page)
  })
}
