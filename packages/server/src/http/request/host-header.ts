/** The Host header (RFC 9112 §3.2): one valid value; HTTP/1.1 requires it. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from 'gatehouse-protocol'

/** RFC 3986 §3.2.2, without the comma: Node joins two headers with one, and no host name contains it. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d{0,5})?$/i

/** Throws unless the header is as required. The server itself never uses its value. */
export function checkHost({ headers: { host }, httpVersion }: IncomingMessage): void {
  if (host === undefined) {
    if (httpVersion === '1.1') throw refuse('The request has no Host header: HTTP/1.1 requires one')
  } else if (!isValid(host)) throw refuse('The request must have one Host header with a host and, if needed, a port')
}

/** Nearly all requests have the same few hosts. */
let lastValid = ''

function isValid(host: string): boolean {
  if (host === lastValid) return true
  if (!HOST.test(host)) return false
  lastValid = host
  return true
}

function refuse(text: string): Refusal {
  return new Refusal('http.bad_request', 400, text, { headers: { connection: 'close' } })
}
