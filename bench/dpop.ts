/** Queries with tokens that are bound to a key (DPoP), compared with bearer tokens: each request has a proof of its own, by one of 32 keys. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { createProofMaker, type ProofMaker } from '../test/support/dpop.ts'
import { RATES } from './query.ts'
import { type Checkout, HERE, serve } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { type Caller, load, requestBytes } from './support/http-load.ts'
import { pinThisProcess } from './support/processors.ts'
import { newPort, type Program, temporaryFolder } from './support/program.ts'
import type { Placement } from './support/query-peers.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 3000)
const CLIENTS = 32
const SERVER = { processor: 0 }
const CLIENT_PROCESSOR = 1
const STATEMENT = 'SELECT symbol, name FROM instruments WHERE symbol = :symbol'
const TEXT = 'text/plain; charset=utf-8'
const VERIFICATIONS = 5_000

const bound = (name: string, placement: Placement): Pick<Measurement, 'subject' | 'references'> => ({
  subject: (checkout) => contender(name, checkout, placement, true),
  async *references() {
    yield await contender('bearer', HERE, placement, false)
    yield { name: 'bare verify', measure: bareVerify }
  },
})

export const dpop: readonly Measurement[] = [
  {
    name: 'query-key-dpop',
    about: 'one row by its key, with a token that is bound to a key and a proof for each request',
    columns: RATES,
    ratios: [{ column: 'rate', to: 'bearer', least: 0.6 }],
    ...bound('DPoP', {}),
  },
  {
    name: 'query-key-dpop-pinned',
    about: 'the same, with the server on one processor and the client on another',
    columns: RATES,
    ratios: [{ column: 'rate', to: 'bearer', least: 0.25 }],
    setup: () => pinThisProcess(CLIENT_PROCESSOR),
    ...bound('DPoP', SERVER),
  },
]

async function contender(name: string, checkout: Checkout, placement: Placement, isBound: boolean): Promise<Contender> {
  const folder = await temporaryFolder()
  const port = newPort()
  const flags = {
    '--demo': 'true',
    '--demo-market': 'false',
    '--port': String(port),
    '--log-level': 'warn',
    '--data': `${folder.path}/data`,
    '--query-per-user': '1000',
  }
  const program = await serve(checkout, flags, { ...placement, readyAt: `http://127.0.0.1:${port}/readyz` })
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => openClient(port, isBound)))
  return {
    name,
    measure: () => measure(port, program, clients),
    async close() {
      await program.stop()
      await folder.remove()
    },
  }
}

interface Client {
  build(): Buffer
}

async function openClient(port: number, isBound: boolean): Promise<Client> {
  const key = isBound ? createProofMaker() : undefined
  const token = await requestToken(port, key)
  const url = `http://127.0.0.1:${port}/query`
  return {
    build: () =>
      requestBytes(
        'POST',
        '/query?p.symbol=ACME',
        key === undefined
          ? { authorization: `Bearer ${token}` }
          : { authorization: `DPoP ${token}`, dpop: key.prove({ method: 'POST', url, accessToken: token }) },
        STATEMENT,
        TEXT,
      ),
  }
}

async function requestToken(port: number, key: ProofMaker | undefined): Promise<string> {
  const url = `http://127.0.0.1:${port}/connect/token`
  const response = await fetch(url, {
    method: 'POST',
    headers: key === undefined ? {} : { dpop: key.prove({ method: 'POST', url }) },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-service',
      client_secret: 'demo-service-secret',
    }),
  })
  const token = /"access_token":"([^"]+)"/.exec(await response.text())?.[1]
  if (token === undefined) throw new Error(`The token endpoint answered ${response.status}`)
  return token
}

/** Proofs are signed before the time that is measured; a proof is good for a minute. */
let mostResponses = 16_000

async function measure(port: number, program: Program, clients: readonly Client[]): Promise<Figures> {
  await load(port, createCallers(clients, mostResponses / 3), ROUND_MS / 3)
  const callers = createCallers(clients, mostResponses)
  const before = program.use().cpuMs
  const { responses, seconds } = await load(port, callers, ROUND_MS)
  mostResponses = Math.max(mostResponses, Math.ceil(responses * 1.3))
  return { rate: responses / seconds, cpu: (program.use().cpuMs - before) / responses }
}

function createCallers(clients: readonly Client[], requests: number): Caller[] {
  return clients.map(({ build }) => {
    const prepared = Array.from({ length: Math.ceil(requests / CLIENTS) }, build)
    return { next: () => prepared.pop() ?? build() }
  })
}

/** What OpenSSL alone takes for the signature of a proof. */
async function bareVerify(): Promise<Figures> {
  const maker = createProofMaker()
  const key: KeyObject = createPublicKey({ key: maker.jwk, format: 'jwk' })
  const proof = maker.prove({ url: 'http://127.0.0.1/query', accessToken: 'a token' })
  const dot = proof.lastIndexOf('.')
  const [input, signature] = [Buffer.from(proof.slice(0, dot)), Buffer.from(proof.slice(dot + 1), 'base64url')]
  const began = performance.now()
  const before = process.cpuUsage()
  for (let n = 0; n < VERIFICATIONS; n++)
    if (!verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature)) throw new Error('Not verified')
  const { user, system } = process.cpuUsage(before)
  return { rate: (VERIFICATIONS * 1000) / (performance.now() - began), cpu: (user + system) / 1000 / VERIFICATIONS }
}
