/** Receives the notices of alerts, as receiver.py does: signed as Standard Webhooks has it, each once. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'

interface Notice {
  readonly type: string
  readonly data: { readonly title: string }
}

const key = Buffer.from(
  readFileSync('hook.secret', 'utf8')
    .trim()
    .replace(/^whsec_/, ''),
  'base64',
)
const seen = new Set<string>()

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  if (!isGenuine(request.headers, body)) {
    response.writeHead(401).end()
    return
  }
  const id = String(request.headers['webhook-id'])
  // A delivery whose answer was lost comes again, with the same id.
  if (!seen.has(id)) {
    const notice: Notice = JSON.parse(body.toString())
    console.log(notice.type, notice.data.title)
    seen.add(id)
  }
  response.writeHead(204).end()
})

/** Signed with the key, and not older than five minutes. */
function isGenuine(headers: IncomingHttpHeaders, body: Buffer): boolean {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    String(headers[name] ?? ''),
  )
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  const expected = Buffer.from(`v1,${mac}`)
  // There are two for a day after the key was rotated.
  const isSigned = (signatures ?? '').split(' ').some((each) => {
    const given = Buffer.from(each)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  return isSigned && Math.abs(Date.now() / 1000 - Number(timestamp)) < 300
}

server.listen(9000, '127.0.0.1', () => console.log('waiting for notices'))
