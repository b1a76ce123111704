/** A client of a FAPI 2.0 plan: pushed requests, the browser, token requests and resource requests, each with changes of the test. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createProofMaker, type ProofMaker } from '../../support/dpop.ts'
import { person } from '../../support/providers/provider.ts'
import { createUserAgent, type Departure, type Page, type UserAgent } from '../../support/user-agent.ts'
import { signIn, visit } from '../../support/visitor.ts'
import { type Reply, sendForm, sendGet } from './http.ts'
import { type JwtChanges, signJwt } from './jws.ts'
import type { Plan, PlanClient, Target } from './plan.ts'

export type PartyParameters = Readonly<Record<string, string | object | undefined>>

export interface Metadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly pushed_authorization_request_endpoint: string
  readonly jwks_uri: string
  readonly userinfo_endpoint?: string
  readonly [name: string]: unknown
}

/** What the modules of one plan share. */
export interface Bench {
  readonly target: Target
  readonly plan: Plan
  readonly metadata: Metadata
  /** A browser that stays signed in. */
  readonly agent: UserAgent
  readonly party: Party
  readonly otherParty: Party
}

/** An assertion to send with changes, or none at all. */
export type Assertion = (JwtChanges & { readonly type?: string | null; readonly by?: PlanClient }) | 'none'

/** Changes of a DPoP proof, or none at all. */
export type Proof =
  | {
      readonly claims?: Readonly<Record<string, unknown>>
      readonly header?: Readonly<Record<string, unknown>>
      readonly by?: ProofMaker
      /** The last step before the proof is sent. */
      readonly send?: (proof: string) => string | readonly string[]
      readonly headerName?: string
      readonly scheme?: string
    }
  | 'none'

export interface PushChanges {
  readonly assertion?: Assertion
  readonly object?: JwtChanges
  readonly isUnsigned?: boolean
  readonly form?: Readonly<Record<string, string>>
  /** By default none is sent. */
  readonly proof?: Proof
  readonly method?: 'POST' | 'PUT'
}

export interface OpenChanges {
  /** Parameters in addition to the request URI; undefined omits one. */
  readonly outer?: Readonly<Record<string, string | undefined>>
  readonly isMinimal?: boolean
  readonly isReversed?: boolean
  readonly isRefused?: boolean
  readonly agent?: UserAgent
}

export interface TokenChanges {
  readonly assertion?: Assertion
  readonly proof?: Proof
  readonly form?: Readonly<Record<string, string | undefined>>
}

/** Where the browser is at the end: sent back to the client, or at a page of the provider. */
export type End = Departure | Page

export interface Party {
  readonly client: PlanClient
  /** The key of its proofs. */
  proofMaker: ProofMaker
  /** The parameters of a usual request with these changes, and the code verifier. */
  request(changes?: PartyParameters): PartyParameters
  push(request: PartyParameters, changes?: PushChanges): Promise<Reply>
  open(request: PartyParameters, requestUri: string, changes?: OpenChanges): Promise<End>
  /** Opens the address without a word to the provider's pages. */
  authorizeUrl(request: PartyParameters, requestUri: string, changes?: OpenChanges): URL
  token(form: Readonly<Record<string, string | undefined>>, changes?: TokenChanges): Promise<Reply>
  redeem(request: PartyParameters, code: string, changes?: TokenChanges): Promise<Reply>
  resource(accessToken: string, proof?: Proof, headers?: Readonly<Record<string, string>>): Promise<Reply>
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** These are repeated in the address of the authorization endpoint. */
const REPEATED = ['response_type', 'client_id', 'scope', 'redirect_uri'] as const

export function createBench(target: Target, plan: Plan, metadata: Metadata): Bench {
  const agent = createUserAgent({ home: target.issuer, now: target.now })
  const [first, second] = target.clients(plan)
  const shared = { target, plan, metadata, agent }
  return { ...shared, party: createParty(shared, first), otherParty: createParty(shared, second) }
}

export function createParty(bench: Omit<Bench, 'party' | 'otherParty'>, client: PlanClient): Party {
  const { target, plan, metadata, agent } = bench
  const isSecond = client.redirectUri.includes('?')
  const verifiers = new Map<unknown, string>()
  const seconds = () => Math.floor(target.now() / 1000)

  function assertionForm(changes: Assertion = {}): Record<string, string> {
    if (changes === 'none') return { client_id: client.id }
    const { id, key } = changes.by ?? client
    const at = seconds()
    const times = { iat: at, nbf: at, exp: at + 60 }
    const claims = { iss: id, sub: id, aud: metadata.issuer, jti: randomUUID(), ...times }
    const type = changes.type === undefined ? ASSERTION_TYPE : changes.type
    return {
      ...(type === null ? {} : { client_assertion_type: type }),
      client_assertion: signJwt(key, claims, changes),
    }
  }

  function requestObject(request: PartyParameters, changes: JwtChanges = {}): string {
    const at = seconds()
    const claims = { nbf: at, exp: at + 300, aud: metadata.issuer, iss: client.id, client_id: client.id }
    // The type of the second is written in the case that the suite uses, and the first has none.
    const header = isSecond ? { typ: 'OautH-auThZ-REQ+jWt', ...changes.header } : changes.header
    const all = { ...request, ...claims, ...(isSecond ? { iat: at } : {}) }
    return signJwt(client.key, all, header === undefined ? changes : { ...changes, header })
  }

  function prover(url: string, method: string, proof: Proof | undefined, accessToken?: string) {
    if (proof === undefined || proof === 'none') return undefined
    const { claims, header, by = party.proofMaker, send = (made: string) => made, headerName = 'DPoP' } = proof
    return (nonce: string | undefined): Record<string, string | readonly string[]> => {
      const wishes = { method, url, accessToken, nonce, now: target.now() }
      // As libraries write a public key, with more members than the thumbprint has.
      const jwk = { ...by.jwk, kid: by.thumbprint, use: 'sig', alg: by.jwk.kty === 'RSA' ? 'PS256' : 'ES256' }
      const made = by.prove({ ...wishes, ...(claims && { claims }), header: { jwk, ...header } })
      return { [headerName]: send(made) }
    }
  }

  const party: Party = {
    client,
    proofMaker: createProofMaker('ES256'),
    request(changes = {}) {
      const verifier = randomBytes(32).toString('base64url')
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      verifiers.set(challenge, verifier)
      return {
        client_id: client.id,
        redirect_uri: client.redirectUri,
        scope: client.scope,
        state: randomText(isSecond ? 128 : 10),
        ...(plan.openid ? { nonce: randomText(isSecond ? 43 : 10) } : {}),
        response_type: 'code',
        ...(plan.jarm ? { response_mode: 'jwt' } : {}),
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...changes,
      }
    },
    push(request, { assertion, object, isUnsigned = !plan.signed, form = {}, proof, method = 'POST' } = {}) {
      const url = metadata.pushed_authorization_request_endpoint
      const parameters = isUnsigned ? asForm(request) : { request: requestObject(request, object) }
      const body = { ...parameters, ...assertionForm(assertion), ...form }
      return sendForm(url, body, prover(url, method, proof), method)
    },
    authorizeUrl(request, requestUri, { outer = {}, isMinimal = false, isReversed = false } = {}) {
      const form = asForm(request)
      const names: readonly string[] = isMinimal ? ['client_id'] : REPEATED
      const repeated = Object.fromEntries(names.map((name) => [name, form[name]]))
      const entries = Object.entries({ ...repeated, request_uri: requestUri, ...outer }).sort(([one], [other]) =>
        one < other !== isReversed ? -1 : 1,
      )
      const url = new URL(metadata.authorization_endpoint)
      for (const [name, value] of entries) if (value !== undefined) url.searchParams.append(name, value)
      return url
    },
    async open(request, requestUri, changes = {}) {
      const { agent: browser = agent, isRefused = false } = changes
      return answerPages(browser, await browser.get(party.authorizeUrl(request, requestUri, changes)), isRefused)
    },
    token(form, { assertion, proof = {}, form: changes = {} } = {}) {
      const url = metadata.token_endpoint
      return sendForm(url, asForm({ ...form, ...assertionForm(assertion), ...changes }), prover(url, 'POST', proof))
    },
    redeem(request, code, changes) {
      const verifier = verifiers.get(request.code_challenge)
      const redirect = asForm(request).redirect_uri
      const form = { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: verifier }
      return party.token(form, changes)
    },
    resource(accessToken, proof = {}, headers = {}) {
      const url = target.resource(plan)
      const scheme = proof === 'none' ? 'DPoP' : (proof.scheme ?? 'DPoP')
      const authorization = `${scheme} ${accessToken}`
      return sendGet(url, { authorization, ...headers }, prover(url, 'GET', proof, accessToken))
    },
  }
  return party
}

/** Signs in, and agrees or refuses. */
export async function answerPages(agent: UserAgent, start: End, isRefused = false): Promise<End> {
  if (!isRefused) return (await visit(agent, start, person)).end
  let at = start
  if (at.kind === 'page' && at.body.includes('type="password"')) at = await signIn(agent, at, person)
  // A link that gives up, where there is no button for it.
  const link = at.kind === 'page' ? /href="([^"]+\/abort)"/.exec(at.body)?.[1] : undefined
  if (link !== undefined) return agent.get(link)
  return (await visit(agent, at, person, 'refuse')).end
}

export function randomText(length: number): string {
  return randomBytes(length).toString('hex').slice(0, length)
}

function asForm(parameters: PartyParameters): Record<string, string> {
  const entries: [string, string][] = []
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) entries.push([name, typeof value === 'string' ? value : JSON.stringify(value)])
  }
  return Object.fromEntries(entries)
}
