/** Requests of the FAPI 2.0 modules: header lines as given, and once more with the nonce that the provider asks for. */
import https from 'node:https'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  /** The members of a JSON object; none for anything else. */
  readonly json: Readonly<Record<string, unknown>>
  /** Whether the provider asked for a nonce first. */
  readonly neededNonce: boolean
}

type Headers = Readonly<Record<string, string | readonly string[]>>
/** The DPoP header for a nonce. */
type Prove = ((nonce: string | undefined) => Headers) | undefined

export function sendForm(
  url: string,
  form: Readonly<Record<string, string>>,
  prove?: Prove,
  method = 'POST',
): Promise<Reply> {
  const headers = {
    accept: 'application/json;charset=UTF-8',
    'accept-charset': 'utf-8',
    'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
  }
  return sendProven(url, method, headers, prove, new URLSearchParams(form).toString())
}

export function sendGet(url: string, headers: Headers, prove?: Prove): Promise<Reply> {
  return sendProven(url, 'GET', { accept: 'application/json;charset=UTF-8', ...headers }, prove)
}

async function sendProven(url: string, method: string, headers: Headers, prove: Prove, body?: string): Promise<Reply> {
  const reply = await send(url, method, { ...headers, ...prove?.(undefined) }, body)
  const asksForNonce =
    reply.json.error === 'use_dpop_nonce' || reply.headers['www-authenticate']?.includes('use_dpop_nonce') === true
  if (prove === undefined || !asksForNonce) return reply
  const again = await send(url, method, { ...headers, ...prove(reply.headers['dpop-nonce']) }, body)
  return { ...again, neededNonce: true }
}

function send(url: string, method: string, headers: Headers, body?: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
    )
    const request = https.request(url, { method, headers: outgoing, agent }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(parts).toString()
        const all = Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')])
        const status = response.statusCode ?? 0
        resolve({ status, headers: Object.fromEntries(all), text, json: parseObjectOrNone(text), neededNonce: false })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

const agent = new https.Agent({ keepAlive: true })

/** Closes the connections that are kept for later requests. */
export function closeConnections(): void {
  agent.destroy()
}

function parseObjectOrNone(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
