/** Administration of a running server, as whoever has logged in. */
import { Usage } from '../command.ts'
import type { AdminConnection } from './connection.ts'
import { type Credentials, readCredentials, writeCredentials } from './credentials.ts'
import { nothingAt, refresh } from './oauth.ts'

/** Renewed a little early, so that no call meets the end of a token. */
const EARLY_MS = 30_000

export async function connectRemotely(server: string): Promise<AdminConnection> {
  const credentials = await currentCredentials(server)
  return {
    async request(method, target, { body, ifMatch } = {}) {
      const response = await fetch(server + target, {
        method,
        headers: {
          authorization: `Bearer ${credentials.accessToken}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch((error: unknown) => {
        throw nothingAt(server, error)
      })
      if (!response.ok) throw await refusal(response)
      if (response.headers.get('content-type')?.startsWith('application/x-ndjson') === true)
        return { body: undefined, lines: linesOf(response) }
      const text = await response.text()
      return { body: text === '' ? undefined : readAnswer(server, text), lines: undefined }
    },
    async close() {},
  }
}

/** Those of `gatehouse login`, renewed where they are about to end. */
export async function currentCredentials(server: string): Promise<Credentials> {
  const stored = readCredentials(server)
  if (stored === undefined) throw new Usage(`Nobody is logged in to ${server}: gatehouse login --server ${server}`)
  if (Date.now() < stored.expiresAt - EARLY_MS) return stored
  const renewed = await refresh(server, stored)
  writeCredentials(server, renewed)
  return renewed
}

/** A proxy in front of a server that is away may answer with a page of its own. */
function readAnswer(server: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Usage(`What answers at ${server} is no Gatehouse: it did not say JSON`)
  }
}

/** The server's own words; they never hold a secret. */
async function refusal(response: Response): Promise<Error> {
  const problem: unknown = await response.json().catch(() => undefined)
  const detail =
    typeof problem === 'object' && problem !== null && 'detail' in problem
      ? String(problem.detail)
      : response.statusText
  return new Usage(`${detail} (${response.status})`)
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) yield decoder.decode(chunk, { stream: true })
}
