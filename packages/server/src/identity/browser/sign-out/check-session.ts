/** `/connect/checksession` (OpenID Connect Session Management §3.3): a frame in which a client learns whether its session has changed. */
import { createHash } from 'node:crypto'
import type { Route } from '../../../http/route.ts'
import { html } from '../../pages/html.ts'
import type { BrowserCookies } from '../cookies.ts'

/** Computes the same as authorize/response.ts from the current cookie, and replies to the sender only. */
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

/** Every client may frame it; it shows nothing and contains no credential. */
export function checkSessionRoute(cookies: BrowserCookies): Route {
  const opening = html`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Session</title></head><body><script data-cookie="${cookies.mark.name}">`
  const page = `${opening}${SCRIPT}</script></body></html>\n`
  return {
    method: 'GET',
    path: '/connect/checksession',
    handle(context) {
      context.setHeaders({
        'referrer-policy': 'no-referrer',
        'cache-control': 'public, max-age=3600',
        'content-security-policy': `default-src 'none'; script-src ${SCRIPT_SOURCE}; base-uri 'none'`,
      })
      context.send('text/html; charset=utf-8', page)
    },
  }
}
